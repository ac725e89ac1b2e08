// The list of recent requests. Equal ones that follow each other are one row, with their count.
import { $, button, drawMethod, drawStatus, el } from './draw.js'

const rows = $('.log ol')
let last
// logRequest notes a response, what was sent for it, and whose key it was: its plan, never the key.
export function logRequest({ method, path, status = 'no response', plan, time }, sent, restore) {
  const identity = JSON.stringify([method, path, status, plan, sent])
  const count = last?.identity === identity ? last.count + 1 : 1, row = button(drawMethod(method), restore, 'entry')
  if (count > 1) rows.firstChild.remove()
  last = { identity, count }
  row.append(el('span', {}, path), drawStatus(status), count > 1 ? `×${count}` : '', el('small', {}, plan))
  row.title = `${path}, ${time}`
  rows.prepend(el('li', {}, row))
  rows.children[50]?.remove()
}
