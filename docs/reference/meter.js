// The meter in the header: what is known of the limit of the chosen key, and how long a wait takes. It opens
// the recent requests.
import { clock, remaining } from './clock.js'
import { $, announce, el, printDuration, printNumber, react, setText } from './draw.js'
import { checkServer, isReachable, isWaiting, limitsOf, newReading, planOf, reading, strikesToBan }
  from './limits.js'
import { recent } from './recent.js'
import { canBeSent, changes, period, settings } from './settings.js'
const fill = el('i'), ticks = el('span', { class: 'ticks' }, fill)
const head = el('strong'), rest = el('span', { class: 'rest' })
const dots = el('span', { class: 'strikes flex', role: 'img' }, ...Array.from({ length: strikesToBan }, () => el('i')))
const meter = $('.meter')
meter.append(ticks, head, ' ', rest, ' ', dots)
$('header').after(recent)
function printState(state, { limit = 0, left = 0, until = 0 }) {
  const { key } = settings, { perMinute = 0 } = limitsOf(key), time = printDuration(remaining(until))
  const count = `${printNumber(left)} of ${printNumber(limit)} left`
  return {
    gone: ['No server', 'start it again'],
    unknown: perMinute ? [`${printNumber(perMinute)} per ${period}`, `${planOf(key)} plan`] : [planOf(key), ''],
    unauthorized: [key ? 'Unknown key' : planOf(key), ''],
    unsure: ['Requests left', 'known from the next response'],
    open: [count, `resets in ${time}`],
    wait: [count, `resets in ${time}`],
    banned: ['Key banned', `for ${time}`],
  }[state]
}
// drawTicks draws a tick for each request, in as many pixels as there is room for, or a bar.
function drawTicks(state, { limit = 0, left = 0 }) {
  const room = Number(getComputedStyle(meter).getPropertyValue('--room'))
  const pitch = Math.max(3, Math.min(12, Math.floor(room / limit))), isBar = limit > 100
  const set = (name, value) => ticks.style.setProperty(name, `${value}px`)
  set('--pitch', pitch)
  set('--between', isBar ? 0 : pitch > 3 ? 2 : 1)
  set('--width', isBar ? room : limit * pitch)
  set('--left', Math.round(isBar ? room * left / limit : left * pitch))
  ticks.hidden = !limit || !['unknown', 'open', 'wait', 'banned'].includes(state)
}
let wasWaiting = isWaiting(settings.key)
function drawMeter() {
  const { key } = settings, last = reading(key), waiting = isWaiting(key)
  const state = isReachable ? last?.state ?? 'unknown' : 'gone', limit = limitsOf(key).perMinute
  const shown = state === 'unknown' ? { limit, left: limit } : { ...last, left: waiting ? 0 : last?.left }
  const [first, second] = printState(state, shown), { left = 0 } = shown, strikes = last?.strikes ?? 0
  const isUsedUp = waiting || (state === 'open' && !left)
  meter.dataset.level = isUsedUp || state === 'gone' ? 'out' : left / shown.limit <= 0.15 ? 'low' : 'high'
  setText(head, first)
  setText(rest, second)
  drawTicks(state, shown)
  dots.hidden = !strikes || state === 'unknown'
  dots.ariaLabel = `${strikes} of ${strikesToBan} strikes`
  ;[...dots.children].forEach((dot, i) => dot.classList.toggle('on', i < strikes))
  $('.own').ariaInvalid = String(state === 'unauthorized' || !canBeSent(key))
  if (waiting !== wasWaiting) announce(waiting ? `${first}, ${second}.` : 'You can send again.')
  wasWaiting = waiting
  if (state === 'gone') remaining(Date.now() + 1000) // to hear the next tick
}
react(drawMeter, [newReading, 'change'], [changes, 'key'], [changes, 'stage'], [window, 'resize'], [clock, 'tick'])
// A server may have stopped or been started again while nobody asked.
clock.addEventListener('tick', () => (!isReachable || isWaiting(settings.key)) && checkServer())
react(() => { if (!document.hidden) checkServer() }, [document, 'visibilitychange'])
