// The recent requests, of which equal ones in a row are one. The session keeps them for a reload.
import { recall, remember } from './settings.js'
// Each has the operation's id, the values and extras of its fields, its entry, and how many times it came.
export let requests = recall('sessionStorage', 'requests') ?? []
export const newRequest = new EventTarget()
const gist = ({ operationId, values, extras, entry: { plan, status } }) =>
  JSON.stringify([operationId, values, extras, plan, status])
export function log(request) {
  const [last] = requests, isSame = last && gist(last) === gist(request), times = isSame ? last.times + 1 : 1
  requests = [{ ...request, times }, ...requests.slice(isSame ? 1 : 0, 12)].slice(0, 12)
  remember('sessionStorage', 'requests', requests)
  newRequest.dispatchEvent(new Event('change'))
}
