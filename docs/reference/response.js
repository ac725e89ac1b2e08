// Draws what came of a request or, before there is one, an example: a line with the status, and the rest.
import { drawCopy, drawJSON, printJSON } from './code.js'
import { headerNames, operationAt, operations } from './description.js'
import { $, button, drawPill, drawTabs, el, inline, link, markTab } from './draw.js'
import { limitsOf } from './limits.js'
import { base, demoKeys } from './settings.js'
/** @import { Entry, Outcome } from './client.js' */
/** @param {Outcome} outcome */
export const kindOf = ({ entry: { failure, status }, miss }) =>
  failure === 'stopped' || miss ? 'odd' : status < 400 ? 'good' : 'bad'
const printTook = ms => ms < 1000 ? `${ms}\xa0ms` : `${(ms / 1000).toFixed(1)}\xa0s`
const drawLine = (head, words, ...ends) => el('div', { class: 'status-line flex under soft' }, head,
  ...words.filter(Boolean).map(word => typeof word === 'string' ? el('span', {}, word) : word),
  el('span', { class: 'ends flex end' }, ...ends))
const drawText = text => text ? [el('p', {}, ...inline(text))] : []
const drawBody = body => body ? [drawJSON(body)] : drawText('The response has no body.')
const copyOf = (what, body) => body ? [drawCopy(what, () => printJSON(body))] : []
/** drawExample shows one example of the statuses; of several of a status, one is chosen.
 * @param {{ statuses: string[], status: string, examples: import('./description.js').Example[], index: number,
 *   canSend: boolean, choose: (status: string, index: number) => void, tryOut: (trial, status) => void }} what */
export function drawExample({ statuses, status, examples, index, canSend, choose, tryOut }) {
  const { summary = '', value, 'x-try': trial } = examples[index] ?? {}
  const body = value === undefined ? '' : JSON.stringify(value), isError = Number(status) >= 400
  const tabs = drawTabs('Example of a response', statuses, name => choose(name, 0))
  markTab(tabs, status)
  const line = drawLine(el('span', {}, 'Example'), [tabs], ...copyOf('the example', body))
  const select = el('select', { 'aria-label': `Example of ${status}` },
    ...examples.map(({ summary }, i) => el('option', { value: i }, summary)))
  select.value = index
  select.oninput = event => { event.stopPropagation(); choose(status, Number(select.value)) }
  const name = trial?.until ? `Send until ${trial.until}` : `Try ${status}`
  const end = trial && canSend ? button(name, () => tryOut(trial, status), 'quiet')
    : el('small', {}, isError ? 'cannot be provoked here' : '')
  const caption = el('div', { class: 'caption flex under soft' }, examples.length > 1 ? select : el('span', {}, summary), end)
  return [line, ...isError && statuses.length > 1 || examples.length > 1 ? [caption] : [], ...drawBody(body)]
}
export const drawRefusal = ({ field, text }) =>
  [drawLine(drawPill('Not sent', 'bad'), []), ...drawText(field.name ? '' : text)] // a field says it itself
const unsure = 'The request may have been carried out: list the records before you send it again.'
/** @param {Entry} entry */
function explainFailure({ failure, method }) {
  if (failure === 'gone') return 'The server could not be reached: is it running?'
  const why = { stopped: 'You stopped waiting. ', slow: 'It took more than 30 seconds. ' }[failure] ?? ''
  return why + (method !== 'GET' ? unsure : why ? '' : 'The response was lost. Send again.')
}
/** @param {Outcome} outcome */
function explainMiss({ entry, count, windows, wanted, miss }) {
  const isSmaller = ({ key }) => limitsOf(key).perMinute < entry.reading?.limit
  const help = demoKeys.some(isSmaller) ? 'choose a smaller plan.' : 'start the server with a longer -minute.'
  return { other: `No ${wanted} came.`, stopped: `You stopped at request ${count}.`,
    windows: `No ${wanted} came before two new minutes: ${help}`,
    ban: 'No ban came: each new minute clears the strikes.',
    fault: 'No 503 in 10 requests: start the server with -fail 1/2.' }[miss]
    ?? (windows ? 'New minute: counting again.' : '')
}
/** printOutcome says in a sentence what the answer shows. @param {Outcome} outcome */
export function printOutcome(outcome) {
  const { entry } = outcome, { status, statusText, reading } = entry
  if (entry.failure) return explainFailure(entry)
  const strikes = status === 429 && reading ? ` Strike ${reading.strikes}.` : ''
  return `${explainMiss(outcome)} ${status} ${statusText}.${strikes}`.trim()
}
// Reset is a time for programs; people get it as theirs, too.
const printHeader = (name, value) => name !== 'X-RateLimit-Reset' ? value
  : `${value} (${new Date(1000 * value).toLocaleTimeString('en-GB')})`
const drawHeaders = pairs => el('dl', { class: 'over soft' }, ...pairs.flatMap(([name, value]) =>
  [el('dt', {}, name), el('dd', {}, printHeader(name, value))]))
const drawNoKey = () => el('p', {}, button('Paste your key', () => ($('.own:not([hidden])') ?? $('#key')).focus()),
  ` at the top of the page${demoKeys.length ? ', or choose a demo key' : ''}.`)
/** drawResponse shows the headers, of which two lead on: to the next page, and to the new record.
 * @param {Outcome} outcome */
export function drawResponse(outcome, { isRecalled, advice, turnTo, goTo, toExample, fill }) {
  const { entry, count } = outcome, { failure, status, statusText, headers, body, took, sentAt, plan, draft } = entry
  const words = [count ? `request\xa0${count}` : took && printTook(took),
    ...isRecalled ? [`sent at ${sentAt}`, plan] : []]
  const text = failure === 'stopped' ? 'Stopped' : failure ? 'No response' : `${status} ${statusText}`
  const head = drawPill(text, kindOf(outcome))
  const hint = status === 401 && !draft.headers?.Authorization ? [drawNoKey()] : []
  const lead = (to, { operationId, summary } = to.operation) =>
    Object.assign(link(operationId, summary), { onclick: () => goTo(to) })
  const list = operations.find(({ method, path }) => method === 'GET' && entry.target.startsWith(path))
  const leads = list && entry.method !== 'GET' && failure !== 'gone' ? [' ', lead({ operation: list })] : []
  const ends = [button('Example', toExample), ...copyOf('the response', body)]
  if (isRecalled) ends.unshift(button('Fill in', fill, 'link fill'))
  if (failure) return [drawLine(head, words, ...ends), el('p', {}, explainFailure(entry), ...leads), advice]
  const named = new Headers(headers), page = named.get('link')?.match(/<[^<>?]*([^<>]*)>; *rel="next"/)?.[1]
  const to = named.has('location') ? new URL(named.get('location'), base).href : '' // with or without a prefix
  const path = to.replace(base, '').replace(location.origin, ''), target = operationAt(path)
  if (page) ends.unshift(button('Next page', () => turnTo(new URLSearchParams(page)), 'next link'))
  if (target) ends.unshift(lead(target))
  const described = headerNames.filter(name => named.has(name))
  const others = headers.filter(([name]) => !described.some(other => other.toLowerCase() === name))
  return [drawLine(head, words, ...ends), advice, ...hint, ...drawText(explainMiss(outcome)), ...drawBody(body),
    drawHeaders(described.map(name => [name, named.get(name)])),
    el('details', { class: 'others over' }, el('summary', { class: 'soft' }, 'Other headers'), drawHeaders(others))]
}
