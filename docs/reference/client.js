// Makes a request of what a form holds, and sends it once or until a status comes. Nothing here draws.
import { checkServer, lose, measure, second, strikesToBan } from './limits.js'
// makeRequest takes the values of the fields, and the query and the headers that a mistake adds.
export function makeRequest({ path, method, inputs }, values, key, extras) {
  const query = new URLSearchParams(extras?.query), headers = key ? { Authorization: `Bearer ${key}` } : {}
  let target = path
  for (const { name, in: location, content } of inputs) {
    const value = values[name]
    if (location === 'path') target = target.replace(`{${name}}`, encodeURIComponent(value) || `{${name}}`)
    else if (location === 'body') headers['Content-Type'] = Object.keys(content)[0]
    else if (value) query.append(name, value)
  }
  if (query.size) target += `?${query}`
  Object.assign(headers, extras?.headers)
  return { method, target, url: location.origin + target, headers, body: values.body }
}
const gone = 'The server could not be reached: is it running?', lost = 'The response was lost. Send again.'
const unsure = 'The request may have been carried out: list the records before you send it again.'
// call returns an entry: method, target, and what came (status, statusText, headers, body, took, reading,
// retryAt) or a failure in words (isStopped, isGone). Others add plan, sentAt, count, note and isMissed.
export async function call({ target, url, ...options }, stop) {
  const start = Date.now(), sent = { method: options.method, target }
  const key = options.headers.Authorization?.slice('Bearer '.length) ?? ''
  try {
    const signal = AbortSignal.any([stop, AbortSignal.timeout(30_000)])
    const response = await fetch(url, { ...options, cache: 'no-store', credentials: 'omit', signal })
    const { status, statusText, headers } = response
    const body = await response.clone().json().catch(() => response.text())
    const reading = measure(key, { headers, body }), wait = Number(headers.get('Retry-After'))
    const retryAt = wait && Date.now() + 1000 * wait, took = Math.max(1, Date.now() - start)
    return { ...sent, status, statusText, headers: [...headers], body, took, reading, retryAt }
  } catch (error) {
    const isRead = sent.method === 'GET', slow = 'It took more than 30 seconds. '
    const why = { AbortError: 'You stopped waiting. ', TimeoutError: slow }[error.name]
    const isGone = !why && !await checkServer()
    if (!isGone) lose(key)
    if (why) return { ...sent, isStopped: stop.aborted, failure: why + (isRead ? '' : unsure) }
    return { ...sent, isGone, failure: isGone ? gone : isRead ? lost : unsure }
  }
}
const pause = (ms, signal) => new Promise(resolve => { setTimeout(signal.onabort = resolve, ms) })
// repeat sends until the status or another refusal comes, or it is stopped. It counts again in each new
// window, of which it takes two. Once the key is refused, it is a strike each second of the limits.
export async function repeat(send, { until, signal, show }) {
  for (let count = 1, refusals = 0, windows = 0, last = null; ; count++) {
    const entry = { ...await send(), count }, { status, reading } = entry
    const end = note => ({ ...entry, note, isMissed: Boolean(note) })
    if (status === until || !reading || [401, 403].includes(status)) return end()
    if (status === 429) refusals++
    else if (last && reading.left >= last.left) {
      if (windows++ === 2) return end(`No ${until} came before two new minutes: choose a smaller plan.`)
      entry.count = count = 1
      refusals = 0
    }
    if (windows) entry.note = 'New minute: counting again.'
    if (refusals === 2 * strikesToBan) return end('No ban came: each new minute clears the strikes.')
    if (until === 503 && count === 10) return end('No 503 in 10 requests: start the server with -fail 1/2.')
    show(entry)
    const pace = (reading.until - 1000 - Date.now()) / reading.left // the server rounds the end up
    if (refusals && until === 403) await pause(second + 50, signal)
    else if (pace > 36) await pause(Math.min(40, pace / 4), signal) // so that one can watch it
    if (signal.aborted) return end(`You stopped at request ${count}.`)
    if (refusals && until !== 403) return end()
    last = reading
  }
}
