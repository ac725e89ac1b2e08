// What the responses have told of the limit of each key. A reload keeps it, but for keys of one's own, and
// the tabs of a browser tell each other.
import { api, limitHeaders } from './description.js'
import { capitalize } from './draw.js'
import { base, demoKeys, demoOf, minute, openChannel, recall, remember } from './settings.js'
/** @typedef {{ limit: number, left: number, state: 'open' | 'wait' | 'banned' | 'unauthorized' | 'unsure', at: number,
 *   until: number, minuteEnd: number, strikes: number, struck?: number }} Reading what the last response with a key
 *   told, and when; the strikes are those that this browser has seen, since no header tells them */
export const strikesToBan = 10, second = minute * 1000 / 60 // one of the limits, in milliseconds
export const limitsOf = key => ({ ...api.info['x-plans'][demoOf(key)?.plan], ...demoOf(key) })
export const planOf = key => demoOf(key) ? capitalize(demoOf(key).plan) : key ? 'Your key' : 'No key'
let { started, readings } = recall('localStorage', 'limits') ?? { readings: {} }
export let isReachable = true
export const newReading = new EventTarget()
const tabs = openChannel('limits')
tabs?.addEventListener('message', ({ data: { key, reading } }) => {
  if (!(readings[key]?.at > reading.at)) keep({ ...readings, [key]: reading })
})
function tell(key, reading) {
  tabs?.postMessage({ key, reading })
  keep({ ...readings, [key]: reading })
}
function keep(news) {
  readings = news
  const shared = demoKeys.filter(({ key }) => news[key]).map(({ key }) => [key, news[key]])
  remember('localStorage', 'limits', { started, readings: Object.fromEntries(shared) })
  newReading.dispatchEvent(new Event('change'))
}
/** reading returns the last one that still holds. @returns {Reading | null} */
export function reading(key) {
  const last = readings[key] ?? null
  return last?.until > Date.now() || last?.state === 'unauthorized' ? last : null
}
export const isWaiting = key => isReachable && ['wait', 'banned'].includes(reading(key)?.state)
/** measure returns the reading of a response, which is null if it says nothing of limits.
 * @param {string} key @param {Headers} headers @param {string} [code] of an error @returns {Reading | null} */
export function measure(key, headers, code) {
  const [limit, left, reset, wait] = [...limitHeaders, 'Retry-After'].map(name => Number(headers.get(name)))
  if (!limit) return null
  isReachable = true
  const now = Date.now(), before = readings[key] ?? {}
  const state = { rate_limited: 'wait', key_banned: 'banned', unauthorized: 'unauthorized' }[code] ?? 'open'
  // The clock of the server may differ. Its Date is cut to whole seconds, and its Reset rounded up.
  const until = now + 1000 * (state !== 'open' && wait || reset - 1 - Date.parse(headers.get('Date')) / 1000)
  const sameMinute = now < before.minuteEnd, isMinute = until - now < (minute + 1) * 1000
  const minuteEnd = isMinute ? until : sameMinute ? before.minuteEnd : now + minute * 1000
  // A refusal is a strike, unless it comes within a second of the strike before it.
  const isStrike = state === 'wait' && !(now - before.struck < second), struck = isStrike ? now : before.struck
  const counted = Math.min((sameMinute ? before.strikes : 0) + Number(isStrike), strikesToBan - 1)
  const strikes = state === 'banned' ? strikesToBan : counted
  const news = { limit, left, state, at: now, until, minuteEnd, strikes, struck }
  tell(key, news)
  return news
}
/** lose makes the count unsure, as a request without a response may have been counted. */
export function lose(key) {
  if (!key || ['wait', 'banned', 'unauthorized'].includes(reading(key)?.state)) return
  tell(key, { ...readings[key], state: 'unsure', at: Date.now(), until: Date.now() + minute * 1000 })
}
/** checkServer returns whether the server can be reached. One that was restarted begins every window anew. */
export async function checkServer() {
  const response = await fetch(`${base}/healthz`, { cache: 'no-store' }).catch(() => undefined), before = started
  isReachable = Boolean(response)
  if (response) started = (await response.json()).started
  keep(started === before ? readings : {})
  return isReachable
}
