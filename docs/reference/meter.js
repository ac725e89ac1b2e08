// Shows what is left of the limit of the chosen key, and a wait. Without a window no timer runs.
import { $, setText } from './draw.js'
import { checkServer, newReading, planOf, reading } from './limits.js'
import { changes, settings } from './settings.js'

let ticking, announced = false // the state that was announced, if one has to wait in it
function duration(seconds) {
  if (seconds >= 3600) return `${Math.ceil(seconds / 3600)}\xa0h`
  return seconds < 100 ? `${seconds}\xa0s` : `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
}

function drawMeter() {
  const { state, waiting, limit, left, since, until } = reading(settings.key), plan = planOf(settings.key)
  const meter = $('.meter'), bar = $('[role=meter]', meter), count = `${left} of ${limit} left`
  const remaining = until - Date.now(), round = waiting ? Math.ceil : Math.floor // the server rounds an end up
  const time = duration(Math.max(1, round(remaining / 1000)))
  const [head, rest] = {
    unknown: [settings.key ? plan : 'Enter your API key', 'the first response shows the limit'],
    unauthorized: [settings.key ? 'Unknown key' : 'Enter your API key', count],
    full: [count, `${plan}: ${limit} a minute`],
    wait: [`Wait ${time}`, `${plan}: ${count}`],
    banned: [`Banned for ${time}`, 'another key still works'],
  }[state] ?? [count, `${plan}: resets in ${time}`]
  setText($('strong', meter), head)
  setText($('span', meter), rest)
  meter.dataset.state = state
  bar.style.setProperty('--level', waiting ? remaining / (until - since) : left / limit)
  Object.assign(bar, { hidden: state === 'unknown', ariaValueMax: limit, ariaValueNow: left, ariaValueText: count })
  const news = waiting ? `${head}. ${rest}` : 'You can send again.'
  if (announced !== (waiting && state)) setText($('[role=status]', meter), news)
  announced = waiting && state
  clearTimeout(ticking)
  if (remaining > 0) ticking = setTimeout(tick, remaining % 1000 || 1000)
}
function tick() {
  newReading.dispatchEvent(new Event('change'))
  if (reading(settings.key).waiting) checkServer()
}
newReading.addEventListener('change', drawMeter)
document.addEventListener('visibilitychange', () => document.hidden || checkServer())
for (const react of [drawMeter, checkServer]) {
  changes.addEventListener('key', react)
  react()
}
