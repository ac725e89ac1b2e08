// Draws a response, and before there is one, an example of each.
import { drawJSON } from './code.js'
import { examplesOf, headerNames, limitHeaders, operationAt, resolve } from './description.js'
import { button, drawStatus, el, inline, link } from './draw.js'
import { duration } from './meter.js'
import { choose, settings } from './settings.js'

const drawBody = body => body === '' ? el('p', {}, 'The response has no body.') : drawJSON(body)

// drawExamples returns elements that show one example, and a function that chooses it by its status, and its number.
export function drawExamples({ responses }, statuses) {
  const choices = el('div', { class: 'choices', role: 'group', 'aria-label': 'Status' }), shown = el('div')
  function choose(status, number = 0) {
    const response = resolve(responses[status]), { summary, value = '' } = examplesOf(response)[number] ?? {}
    for (const choice of choices.children) choice.ariaPressed = choice.value === status
    shown.replaceChildren(el('p', {}, summary ?? inline(response.description)[0]), drawBody(value))
  }
  choices.append(...statuses.map(status =>
    Object.assign(button(drawStatus(status), () => choose(status), ''), { value: status })))
  choose(statuses[0])
  return { parts: [choices, shown], choose }
}

export function drawOutcome({ unsent, failure, status, statusText, took, count, note, restored }) {
  if (unsent) return [`Not sent: ${unsent}.`]
  const head = drawStatus(failure ? 'none' : status, failure ? 'No response' : `${status} ${statusText}`)
  const more = [!failure && `${took}\xa0ms`, count && `request\xa0${count}`, restored].filter(Boolean)
  return [head, ...more.map(part => ` · ${part}`), failure || note ? el('span', {}, failure ?? note) : '']
}

const [, , resetHeader] = limitHeaders
function meaningOf(name, value, received) {
  if (name === 'Retry-After') return value === '1' ? ' second' : ' seconds'
  return name === resetHeader ? `, in ${duration(Math.max(0, Math.floor(value - received / 1000)))} when received` : ''
}
// drawAnswer shows a body below what leads on: its headers, the next page, the new record.
export function drawAnswer({ headers, body, received }, turnTo, goTo) {
  const rows = headerNames.filter(name => headers.has(name)).map(name => {
    const value = headers.get(name)
    return el('div', {}, el('dt', {}, name), el('dd', {}, value, meaningOf(name, value, received)))
  })
  const page = headers.get('Link')?.match(/<[^<>?]*([^<>]*)>; *rel="next"/)?.[1], place = headers.get('Location')
  const summary = el('summary', {}, 'Headers'), details = el('details', {}, summary, el('dl', {}, ...rows))
  details.open = settings.showsHeaders || headers.has('Retry-After')
  summary.onclick = () => choose('showsHeaders', !details.open)
  const leads = el('p', { class: 'leads' }), target = place && operationAt(place)
  if (target) {
    const lead = link(target.operation.operationId, place)
    lead.onclick = () => goTo(target)
    leads.append('Location: ', lead)
  }
  if (page) leads.append(button('Next page', () => turnTo(new URLSearchParams(page)), 'next quiet'))
  return [details, leads, drawBody(body)]
}
