// What is left of the limit of each key, and what its plan allows. The session remembers it for a reload.
import { api, limitHeaders } from './description.js'
import { demoKeys, recall, remember } from './settings.js'

export const strikesToBan = 10
const demoOf = key => demoKeys.find(demo => demo.key === key) ?? {}
const limitOf = key => ({ ...api.info['x-plans'][demoOf(key).plan], ...demoOf(key) }).perMinute
export function planOf(key) {
  const { plan = key ? 'your key' : 'no key' } = demoOf(key)
  return plan[0].toUpperCase() + plan.slice(1)
}
let { started, readings } = { readings: {}, ...recall('sessionStorage', 'limits') }
export const newReading = new EventTarget()
function keep(news) {
  readings = news
  remember('sessionStorage', 'limits', { started, readings })
  newReading.dispatchEvent(new Event('change'))
}
// reading says how much is left. Its state is "full" outside of a window, "open" or "low" in one, "wait" or "banned"
// while the server refuses all, "unauthorized" after a 401, "unknown" for a key whose limit nothing has told yet.
export function reading(key) {
  const last = readings[key] ?? {}, limit = limitOf(key) ?? last.limit
  if (last.until > Date.now()) return { ...last, waiting: last.state === 'wait' || last.state === 'banned' }
  const strikes = last.state === 'banned' ? 0 : last.strikes, state = limit ? 'full' : 'unknown'
  return { state: last.state === 'unauthorized' ? last.state : state, limit, left: limit, strikes, waiting: false }
}

export function measure(key, { headers, body }) {
  const [limit, left, reset, wait] = [...limitHeaders, 'Retry-After'].map(name => Number(headers.get(name)))
  if (!limit) return
  const now = Date.now(), before = readings[key] ?? { strikes: 0 }
  const refused = { rate_limited: 'wait', key_banned: 'banned', unauthorized: 'unauthorized' }[body?.code]
  const state = refused ?? (left > limit / 5 ? 'open' : 'low'), since = before.state === state ? before.since : now
  const isStrike = state === 'wait' && !(now - before.struck < 1000) // a burst is one strike
  const strikes = { wait: Math.min(before.strikes + isStrike, strikesToBan - 1), banned: strikesToBan }[state] ?? 0
  const struck = isStrike ? now : before.struck
  // The clock of the server may differ. Its Date is cut to whole seconds, and its Reset rounded up.
  const until = now + 1000 * (refused && wait || reset - 1 - Date.parse(headers.get('Date')) / 1000)
  keep({ ...readings, [key]: { limit, left, state, since, until, strikes, struck } })
}
// checkServer returns whether the server can be reached. One that is gone, or was restarted, begins every window anew.
export async function checkServer() {
  const response = await fetch('/healthz', { cache: 'no-store' }).catch(() => undefined), before = started
  started = (await response?.json())?.started
  if (started !== before) keep({})
  return Boolean(response)
}
