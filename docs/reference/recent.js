// The recent requests: a popover of the meter or, on stage, a list below the panel.
import { $, drawMethod, el, printNumber, react, setText } from './draw.js'
import { newRequest, requests } from './log.js'
import './operations.js' // which fills the panels
import { panels } from './panel.js'
import { kindOf } from './response.js'
const list = el('ol'), hint = el('p', { class: 'soft' })
export const recent = el('section', { id: 'recent', class: 'float box', popover: '', 'aria-label': 'Recent requests' },
  el('h2', { class: 'minor' }, 'Recent requests'), list, hint)
function drawRow({ entry, times }) {
  const { operationId, method, target, status, failure, plan, sentAt } = entry
  const row = el('button', { type: 'button', class: 'plain', title: `${plan}, ${sentAt}` },
    el('b', { class: `pill ${kindOf({ entry })}` }, String(status ?? failure)), drawMethod(method), el('code', { class: 'cut' }, target),
    el('small', {}, times > 1 ? `×${printNumber(times)}` : ''), el('small', { class: 'end' }, sentAt))
  row.onclick = () => {
    if (recent.popover) recent.hidePopover()
    location.hash = operationId
    $(`#${operationId}`).focus({ preventScroll: true }) // the address may be this one already
    panels.get(operationId).recall(entry)
  }
  return el('li', {}, row)
}
react(() => {
  const known = requests.filter(({ entry }) => panels.has(entry?.operationId)) // the session may be older
  list.replaceChildren(...known.map(drawRow))
  setText(hint, known.length ? 'Select one to see its response again.' : 'Nothing has been sent yet.')
}, [newRequest, 'change'])
