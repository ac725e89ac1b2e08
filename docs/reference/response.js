// Draws a response, and before there is one, an example of each.
import { drawJSON } from './code.js'
import { examplesOf, headerNames, operationAt, ownStatuses, resolve } from './description.js'
import { button, drawStatus, el, link } from './draw.js'
import { choose, settings } from './settings.js'

const drawBody = body => body === '' ? el('p', {}, 'The response has no body.') : drawJSON(body)

// drawExamples returns elements that show one example, and a function that chooses it by its status, and its number.
export function drawExamples(operation) {
  const statuses = ownStatuses(operation), shown = el('div')
  const choices = el('div', { class: 'choices', role: 'group', 'aria-label': 'Status' })
  function choose(status, number = 0) {
    const { summary = '', value = '' } = examplesOf(resolve(operation.responses[status]))[number] ?? {}
    for (const choice of choices.children) choice.ariaPressed = choice.value === status
    shown.replaceChildren(el('p', {}, summary), drawBody(value))
  }
  choices.append(...statuses.map(status =>
    Object.assign(button(drawStatus(status), () => choose(status), ''), { value: status })))
  choose(statuses[0])
  return { parts: [choices, shown], choose }
}

export function drawOutcome({ unsent, failure, status, statusText, took, count, note, restored }) {
  if (unsent) return [`Not sent: ${unsent}.`]
  if (!status && !failure) return []
  const head = drawStatus(failure ? 'none' : status, failure ? 'No response' : `${status} ${statusText}`)
  const more = [status && `${took}\xa0ms`, count && `request\xa0${count}`, restored].filter(Boolean)
  return [head, ...more.map(part => ` · ${part}`), el('span', {}, failure ?? note ?? '')]
}

// drawAnswer shows a body below what leads on: its headers, the next page, the new record.
export function drawAnswer({ headers, body }, turnTo, goTo) {
  const rows = headerNames.filter(name => headers.has(name)).map(name =>
    el('div', {}, el('dt', {}, name), el('dd', {}, headers.get(name))))
  const page = headers.get('Link')?.match(/<[^<>?]*([^<>]*)>; *rel="next"/)?.[1], place = headers.get('Location')
  const summary = el('summary', {}, 'Headers'), details = el('details', {}, summary, el('dl', {}, ...rows))
  details.open = settings.showsHeaders || headers.has('Retry-After')
  summary.onclick = () => choose('showsHeaders', !details.open)
  const leads = el('p', { class: 'leads' }), target = place && operationAt(place)
  if (target) leads.append(link(target.operation.operationId, `Location: ${place}`))
  leads.onclick = event => event.target.matches('a') && goTo(target)
  if (page) leads.append(button('Next page', () => turnTo(new URLSearchParams(page)), 'next quiet'))
  return [details, leads, drawBody(body)]
}
