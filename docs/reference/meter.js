// Shows what is known of the limit of the chosen key, and a wait. Without a window no timer runs.
import { $, announce, printDuration, printNumber, setText } from './draw.js'
import { checkServer, limitsOf, newReading, planOf, reading, strikesToBan } from './limits.js'
import { changes, minute, settings } from './settings.js'

let ticking, announced // the state in which one has to wait
function drawMeter() {
  const { key } = settings, { state, waiting, limit, left, strikes, since, until } = reading(key), { perMinute } = limitsOf(key)
  const meter = $('.meter'), bar = $('[role=meter]', meter), remaining = until - Date.now(), time = printDuration(remaining)
  const count = `${printNumber(left ?? 0)} of ${printNumber(limit ?? 0)} requests left`
  const plan = perMinute ? `${planOf(key)} plan` : key ? planOf(key) : 'Enter your API key'
  const allowance = `${printNumber(perMinute ?? 0)} ${minute === 60 ? 'a minute' : `in ${minute}\xa0s`}`
  const [head, rest] = {
    gone: ['No server', 'start it again'],
    unknown: [plan, perMinute ? allowance : ''],
    unauthorized: key ? ['Unknown key', ''] : [plan, ''],
    open: [count, `resets in ${time}`],
    wait: [`Wait ${time}`, strikes ? `strike ${strikes} of ${strikesToBan}` : ''],
    banned: [`Banned for ${time}`, 'other keys work'],
  }[state]
  setText($('strong', meter), head)
  setText($('span', meter), rest)
  meter.dataset.state = state
  bar.hidden = !(waiting || state === 'open')
  bar.style.setProperty('--level', waiting ? remaining / (until - since) : left / limit)
  Object.assign(bar, { ariaValueMax: limit, ariaValueNow: left, ariaValueText: count })
  if (announced !== (waiting && state)) announce(waiting ? `${head}. ${rest}` : 'You can send again.')
  announced = waiting && state
  clearTimeout(ticking)
  if (state === 'gone' || waiting) ticking = setTimeout(checkServer, remaining > 0 ? remaining % 1000 || 1000 : 2000)
  else if (remaining > 0) ticking = setTimeout(() => newReading.dispatchEvent(new Event('change')), remaining % 1000 || 1000)
}
newReading.addEventListener('change', drawMeter)
changes.addEventListener('key', drawMeter)
document.addEventListener('visibilitychange', () => document.hidden || checkServer())
announced = reading(settings.key).waiting && reading(settings.key).state
drawMeter()
checkServer()
