// Makes a request of a draft, and sends it once or until a status comes. Nothing here draws.
import { checkServer, lose, measure, planOf, second, strikesToBan } from './limits.js'
import { base } from './settings.js'
/** @import { Draft, Operation } from './description.js'
 * @typedef {{ method: string, target: string, url: string, headers: Record<string, string>, body?: string }} Request
 * @typedef {{ operationId: string, draft: Draft, method: string, target: string, plan: string, sentAt: string,
 *   failure?: 'stopped' | 'slow' | 'gone' | 'lost', status?: number, statusText?: string,
 *   headers?: [string, string][], body?: string, error?: { code?: string, message?: string }, took?: number,
 *   retryAt?: number, reading?: import('./limits.js').Reading }} Entry a request, and what came of it: a failure, or
 *   all from its status to the reading
 * @typedef {{ entry: Entry, count?: number, windows?: number, wanted?: number,
 *   miss?: 'other' | 'stopped' | 'windows' | 'ban' | 'fault' }} Outcome of one request, or of the last of several,
 *   with the reason why the status that was wanted did not come */
/** @param {Operation} operation @param {Draft} draft @param {string} key @returns {Request} */
export function makeRequest({ path, method, inputs }, draft, key) {
  const query = new URLSearchParams(draft.query), headers = key ? { Authorization: `Bearer ${key}` } : {}
  let target = path
  for (const { name, in: location, content } of inputs) {
    const value = draft.values[name]
    if (location === 'path') target = target.replace(`{${name}}`, encodeURIComponent(value) || `{${name}}`)
    else if (location === 'body') headers['Content-Type'] = Object.keys(content)[0]
    else if (value) query.append(name, value)
  }
  if (query.size) target += `?${query}`
  Object.assign(headers, draft.headers)
  return { method, target, url: base + target, headers, body: draft.values.body }
}
function errorIn(body) {
  try { return Object(JSON.parse(body)) } catch { return {} }
}
/** send makes an entry: all of it, and only here. @param {AbortSignal} stop @returns {Promise<Entry>} */
export async function send(operation, draft, key, stop) {
  const { target, url, ...options } = makeRequest(operation, draft, key), { method } = options
  const own = draft.headers?.Authorization, plan = own ? 'Unknown key' : planOf(key)
  const start = Date.now(), sentAt = new Date(start).toLocaleTimeString('en-GB')
  const sent = { operationId: operation.operationId, draft, method, target, plan, sentAt }
  const counted = own?.replace(/^Bearer /, '') ?? key
  try {
    const signal = AbortSignal.any([stop, AbortSignal.timeout(30_000)])
    const response = await fetch(url, { ...options, cache: 'no-store', credentials: 'omit', signal })
    const { status, statusText, headers } = response, body = await response.text()
    const { code, message } = status < 400 ? {} : errorIn(body), wait = Number(headers.get('Retry-After'))
    return { ...sent, status, statusText, headers: [...headers], body, error: { code, message },
      took: Math.max(1, Date.now() - start), retryAt: wait && Date.now() + 1000 * wait,
      reading: measure(counted, headers, code) }
  } catch ({ name }) {
    const why = stop.aborted ? 'stopped' : name === 'TimeoutError' ? 'slow' : ''
    const failure = why || (await checkServer() ? 'lost' : 'gone')
    if (failure !== 'gone') lose(counted)
    return { ...sent, failure }
  }
}
const pause = (ms, signal) => new Promise(resolve => { setTimeout(signal.onabort = resolve, ms) })
/** repeat sends until the status or another refusal comes, or it is stopped. It counts again in each new
 * window, of which it takes two. Once the key is refused, it is a strike each second of the limits.
 * @param {() => Promise<Entry>} sendOnce @returns {Promise<Outcome>} */
export async function repeat(sendOnce, { until, signal, show }) {
  for (let count = 1, refusals = 0, windows = 0, last = null; ; count++) {
    const entry = await sendOnce(), { status, reading } = entry
    if (status === 429) refusals++
    else if (status !== 403 && last && reading?.left >= last.left) { // the Reset of a ban is its end
      windows++
      count = 1
      refusals = 0
    }
    const outcome = { entry, count, windows, wanted: until }
    if (status === until || !reading || [401, 403].includes(status)) return outcome
    if (windows > 2) return { ...outcome, miss: 'windows' }
    if (refusals === 2 * strikesToBan) return { ...outcome, miss: 'ban' }
    if (until === 503 && count === 10) return { ...outcome, miss: 'fault' }
    show(outcome)
    const pace = (reading.until - 1000 - Date.now()) / reading.left // the server rounds the end up
    if (refusals && until === 403) await pause(second + 50, signal)
    else if (pace > 36) await pause(Math.min(40, pace / 4), signal) // so that one can watch it
    if (signal.aborted) return { ...outcome, miss: 'stopped' }
    if (refusals && until !== 403) return outcome
    last = reading
  }
}
