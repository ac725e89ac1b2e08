// Draws what came of a request or, before there is one, an example: a line with the status, and the rest.
import { drawCopy, drawJSON, printJSON } from './code.js'
import { headerNames, operationAt, operations } from './description.js'
import { $, button, drawPill, el, inline, link } from './draw.js'
import { demoKeys } from './settings.js'
export const outcomeOf = ({ isStopped, isMissed, status }) =>
  isStopped || isMissed ? 'odd' : status < 400 ? 'good' : 'bad'
const printTook = ms => ms < 1000 ? `${ms}\xa0ms` : `${(ms / 1000).toFixed(1)}\xa0s`
const drawLine = (head, words, ...ends) => el('div', { class: 'status-line' }, head,
  ...words.filter(Boolean).map(word => el('span', {}, word)), el('span', { class: 'ends' }, ...ends))
const drawText = text => text ? [el('p', {}, ...inline(text))] : []
const drawBody = body => body === '' ? drawText('The response has no body.') : [drawJSON(body)]
export const drawExample = ({ summary = 'no body', value = '' }, status) => [
  drawLine(el('b', { class: 'label' }, 'Example response'), [`${status}: ${summary}`],
    drawCopy('the example', () => printJSON(value))), ...drawBody(value)]
export const drawRefusal = ({ field, text }) =>
  [drawLine(drawPill('Not sent', 'bad'), []), ...drawText(field.name ? '' : text)] // a field says it itself
// Reset is a time for programs; people get it as theirs, too.
const printHeader = (name, value) => name !== 'X-RateLimit-Reset' ? value
  : `${value} (${new Date(1000 * value).toLocaleTimeString('en-GB')})`
const drawHeaders = pairs => el('dl', {}, ...pairs.flatMap(([name, value]) =>
  [el('dt', {}, name), el('dd', {}, printHeader(name, value))]))
const toKey = () => ($('.own:not([hidden])') ?? $('#key')).focus()
const drawNoKey = () => el('p', {}, button('Paste your key', toKey),
  ` at the top of the page${demoKeys.length ? ', or choose a demo key' : ''}.`)
// drawResponse shows the headers, of which two lead on: to the next page, and to the new record.
export function drawResponse(entry, { isRecalled, advice, turnTo, goTo }) {
  const { failure, isStopped, status, statusText, headers, body, took, count, note, sentAt, plan } = entry
  const words = [count ? `request\xa0${count}` : took && printTook(took),
    ...isRecalled ? [`sent at ${sentAt}`, plan] : []]
  const text = isStopped ? 'Stopped' : failure ? 'No response' : `${status} ${statusText}`
  const head = drawPill(text, outcomeOf(entry))
  const hint = status === 401 && plan !== 'Unknown key' ? [drawNoKey()] : [] // that of a trial
  const lead = (to, { operationId, summary } = to.operation) =>
    Object.assign(link(operationId, summary), { onclick: () => goTo(to) })
  const list = operations.find(({ method, path }) => method === 'GET' && entry.target.startsWith(path))
  const leads = list && entry.method !== 'GET' && !entry.isGone ? [' ', lead({ operation: list })] : []
  if (!status) return [drawLine(head, words), el('p', {}, failure, ...leads), advice]
  const named = new Headers(headers), ends = [drawCopy('the response', () => printJSON(body))]
  const page = named.get('link')?.match(/<[^<>?]*([^<>]*)>; *rel="next"/)?.[1]
  const target = operationAt(named.get('location') ?? '')
  if (page) ends.unshift(button('Next page', () => turnTo(new URLSearchParams(page)), 'next link'))
  if (target) ends.unshift(lead(target))
  const described = headerNames.filter(name => named.has(name))
  const others = headers.filter(([name]) => !described.some(other => other.toLowerCase() === name))
  return [drawLine(head, words, ...ends), advice, ...hint, ...drawText(note), ...drawBody(body),
    drawHeaders(described.map(name => [name, named.get(name)])),
    el('details', { class: 'others' }, el('summary', {}, 'Other headers'), drawHeaders(others))]
}
