// Shows what is known of the limit of the chosen key, and a wait. Without a window no timer runs.
import { $, announce, printDuration, printNumber, react, setText } from './draw.js'
import { canBeSent } from './form.js'
import { checkServer, isReachable, isWaiting, limitsOf, newReading, planOf, reading, strikesToBan }
  from './limits.js'
import { changes, minute, period, settings } from './settings.js'
let ticking, wasWaiting = isWaiting(settings.key)
function drawMeter() {
  const { key } = settings, waiting = isWaiting(key), last = reading(key)
  const { limit = 0, left = 0, strikes, since, until } = last ?? {}
  const state = isReachable ? last?.state ?? 'unknown' : 'gone'
  const { perMinute = 0 } = limitsOf(key), plan = perMinute ? `${planOf(key)} plan` : planOf(key)
  const remaining = until - Date.now(), time = printDuration(remaining)
  const isShort = remaining < minute * 1000, strike = `Strike ${strikes} of ${strikesToBan}`
  const level = waiting ? remaining / (until - since) : left / limit // a wait runs out
  const count = `${printNumber(left)} of ${printNumber(limit)} requests left`
  const [head, rest] = {
    gone: ['No server', 'Start the server again'],
    unknown: [plan, perMinute ? `${printNumber(perMinute)} per ${period}` : ''],
    unauthorized: [key ? 'Unknown key' : plan, ''],
    unsure: ['Requests left', 'known from the next response'],
    open: [count, `resets in ${time}`],
    wait: [`Wait ${time}`, isShort ? strike : 'Other keys work'],
    banned: [`Banned for ${time}`, 'Other keys work'],
  }[state]
  const meter = $('.meter'), bar = $('[role=meter]', meter)
  setText($('strong', meter), head)
  setText($('span', meter), rest)
  meter.dataset.state = state
  bar.hidden = !(waiting || state === 'open')
  bar.style.setProperty('--level', `${100 * level}%`)
  $('.own').ariaInvalid = state === 'unauthorized' || !canBeSent(key)
  Object.assign(bar, { ariaValueMax: limit, ariaValueNow: left, ariaValueText: count })
  if (waiting !== wasWaiting) announce(waiting ? `${head}. ${rest}` : 'You can send again.')
  wasWaiting = waiting
  clearTimeout(ticking)
  const tick = state === 'gone' || waiting ? checkServer : () => newReading.dispatchEvent(new Event('change'))
  const pause = remaining % 1000 > 0 ? remaining % 1000 : 1000
  if (state === 'gone' || remaining > 0) ticking = setTimeout(tick, pause)
}
react(drawMeter, [newReading, 'change'], [changes, 'key'])
react(() => document.hidden || checkServer(), [document, 'visibilitychange'])
