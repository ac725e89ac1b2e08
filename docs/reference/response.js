// Draws what came of a request or, before there is one, an example: a line with the status, and what stands below it.
import { drawCopy, drawJSON, printJSON } from './code.js'
import { headerNames, operationAt } from './description.js'
import { button, drawStatus, el, inline, link } from './draw.js'

const drawBody = body => body === '' ? [el('p', {}, 'The response has no body.')] : drawJSON(body)
const drawLine = (head, words, ...ends) => el('div', { class: 'status-line' }, head, ...words.filter(Boolean)
  .map(word => el('span', {}, word)), el('span', { class: 'ends' }, ...ends))
export const drawExample = ({ summary, value = '' }, status) => [drawLine(el('b', {}, 'Example response'),
  [`${status}: ${summary}`], drawCopy(() => printJSON(value))), ...drawBody(value)]
// drawResponse shows the headers, of which two lead on: to the next page, and to the new record.
export function drawResponse(entry, wait, turnTo, goTo) {
  const { unsent, failure, isStopped, status, statusText, headers, body, took, count, note, sentAt, plan } = entry
  const words = [took && `${took}\xa0ms`, count && `request\xa0${count}`, sentAt && `sent at ${sentAt}`, plan]
  const drawText = text => text ? [el('p', {}, ...inline(text))] : []
  const text = unsent ? 'Not sent' : isStopped ? 'Stopped' : failure ? 'No response' : `${status} ${statusText}`
  const head = isStopped || note ? el('b', {}, text) : drawStatus(status, text) // a note says what is odd
  if (!status) return [drawLine(head, words), ...drawText(entry.wrong?.name ? '' : failure ?? unsent)]
  const named = new Headers(headers), ends = [drawCopy(() => printJSON(body))]
  const page = named.get('link')?.match(/<[^<>?]*([^<>]*)>; *rel="next"/)?.[1]
  const target = operationAt(named.get('location') ?? ''), { operationId, summary } = target?.operation ?? {}
  if (page) ends.unshift(button('Next page', () => turnTo(new URLSearchParams(page)), 'next link'))
  if (target) ends.unshift(Object.assign(link(operationId, summary), { onclick: () => goTo(target) }))
  const rows = headerNames.filter(name => named.has(name)).flatMap(name =>
    [el('dt', {}, name), el('dd', {}, named.get(name))])
  return [drawLine(head, words, ...ends), wait, ...drawText(note), ...drawBody(body), el('dl', {}, ...rows)]
}
