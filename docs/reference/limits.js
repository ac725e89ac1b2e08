// What is left of the limit of each key. The session remembers it for a reload; other tabs, which share it, are told.
import { recall, remember } from './storage.js'

let { started, readings } = { readings: {}, ...recall('sessionStorage', 'limits') }
const tabs = new BroadcastChannel('petstore.limits')
export const newReading = new EventTarget()
export const limitHeaders = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset']
// reading says how much is left. Its state is "new" before the first response, "open" or "low" in a window, "wait" or
// "banned" while the server refuses all, and "over" once that has ended.
export function reading(key) {
  const last = readings[key] ?? { state: 'new' }
  if (last.until <= Date.now()) return { ...last, state: 'over', left: last.limit, waiting: false }
  return { ...last, waiting: last.state === 'wait' || last.state === 'banned' }
}

function keep(news, isAnew) {
  if (isAnew) started = undefined
  readings = { ...(isAnew ? {} : readings), ...news }
  remember('sessionStorage', 'limits', { started, readings })
  newReading.dispatchEvent(new Event('change'))
}
tabs.onmessage = ({ data }) => data === 'Which?' ? tabs.postMessage(readings) : keep(data)
tabs.postMessage('Which?')

export function measure(key, { status, headers, body }) {
  const [limit, left, reset, wait] = [...limitHeaders, 'Retry-After'].map(name => Number(headers.get(name)))
  if (!limit) return
  const refused = body?.code === 'key_banned' ? 'banned' : status === 429 && 'wait', before = reading(key)
  const now = Date.now(), difference = now - Date.parse(headers.get('Date'))
  const skew = Math.abs(difference) > 2000 ? difference - 1000 : 0 // of the clocks; the header is cut to whole seconds
  const until = refused ? now + wait * 1000 : reset * 1000 + skew
  const state = refused || (left > limit / 5 ? 'open' : 'low'), since = before.state === state ? before.since : now
  // Within a window no response has more left than one before, or a later end: else the server was restarted.
  const isAnew = (left > before.left || until > before.until + 2000) && !refused && before.limit === limit
    && before.state !== 'over'
  const isStranger = status === 401 || (status === 429 && before.isStranger)
  const news = { [key]: { limit, left, state, since, until, isStranger } }
  keep(news, isAnew)
  tabs.postMessage(news)
}

// checkServer returns whether the server can be reached. One that is gone, or was restarted, begins every window anew.
export async function checkServer() {
  const response = await fetch('/healthz', { cache: 'no-store' }).catch(() => undefined)
  const { started: now = started } = response?.ok ? await response.json() : {}
  if (!response || (started && now !== started)) keep({}, true)
  started = now
  remember('sessionStorage', 'limits', { started, readings })
  return Boolean(response)
}
