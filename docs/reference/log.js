// The list of recent requests. Equal ones that follow each other are one row, with their count.
import { $, button, drawRow, drawStatus, el, table } from './draw.js'

$('.log').append(table('requests', ['Method', 'Path, time and plan', 'Status']))
let last

// logRequest notes a response, what was sent for it, and whose key it was: its plan, never the key.
export function logRequest({ method, path, status = 'none', plan, time }, sent, restore) {
  const rows = $('.log tbody'), identity = JSON.stringify([method, path, status, plan, sent])
  const count = last?.identity === identity ? last.count + 1 : 1, times = count > 1 ? ` ×${count}` : ''
  if (count > 1) rows.firstChild.remove()
  last = { identity, count }
  const link = button(path, restore, 'link'), note = el('small', {}, `${time}, ${plan}`)
  rows.prepend(drawRow([[el('b', { class: `method ${method}` }, method)], [link, note], [drawStatus(status), times]]))
  rows.children[50]?.remove()
}
