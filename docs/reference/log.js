// The recent requests, of which equal ones that follow each other are one. The session keeps them for a reload.
import { recall, remember } from './settings.js'

export let requests = recall('sessionStorage', 'requests') ?? []
export const newRequest = new EventTarget()
// log takes what was sent, and what came with whose key (its plan, never the key).
export function log(request) {
  const same = ({ entry: { plan, status }, ...sent }) => JSON.stringify([{ ...sent, times: 0 }, plan, status])
  const isSame = requests[0] && same(requests[0]) === same(request), times = isSame ? requests[0].times + 1 : 1
  requests = [{ ...request, times }, ...requests.slice(isSame ? 1 : 0, 12)].slice(0, 12)
  remember('sessionStorage', 'requests', requests)
  newRequest.dispatchEvent(new Event('change'))
}
