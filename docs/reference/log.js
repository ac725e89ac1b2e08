// The recent requests, of which equal GETs in a row are one. The session keeps them for a reload.
import { recall, remember } from './settings.js'
/** @import { Entry } from './client.js'
 * @type {{ entry: Entry, times: number }[]} each with how many times it came */
export let requests = recall('sessionStorage', 'requests') ?? []
export const newRequest = new EventTarget()
/** @param {Entry} entry */
const gist = ({ operationId, draft, plan, status }) => JSON.stringify([operationId, draft, plan, status])
/** log returns the entry. @param {Entry} entry */
export function log(entry) {
  const [last] = requests, isSame = entry.method === 'GET' && last && gist(last.entry) === gist(entry)
  requests = [{ entry, times: isSame ? last.times + 1 : 1 }, ...requests.slice(isSame ? 1 : 0)].slice(0, 12)
  remember('sessionStorage', 'requests', requests)
  newRequest.dispatchEvent(new Event('change'))
  return entry
}
