// Draws a response, and before there is one, an example of each.
import { drawJSON } from './code.js'
import { examplesOf, headerNames, operationAt, ownStatuses, resolve } from './description.js'
import { button, drawStatus, el, link } from './draw.js'

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

export function drawOutcome({ unsent, failure, status, statusText, took, count, note, sentAt, plan }) {
  if (unsent) return [`Not sent: ${unsent}.`]
  const head = drawStatus(failure ? 'none' : status, failure ? 'No response' : `${status} ${statusText}`)
  const more = [status && `${took}\xa0ms`, count && `request\xa0${count}`, sentAt && `sent at ${sentAt}`, plan]
  return [head, ...more.filter(Boolean).map(part => ` · ${part}`), el('span', {}, failure ?? note ?? '')]
}

// drawAnswer shows the headers, of which two lead on (to the next page, and to the new record), and the body.
export function drawAnswer({ headers, body }, turnTo, goTo) {
  const page = headers.get('Link')?.match(/<[^<>?]*([^<>]*)>; *rel="next"/)?.[1], leads = {}
  const target = operationAt(headers.get('Location') ?? ''), { operationId, summary } = target?.operation ?? {}
  if (page) leads.Link = button('Next page', () => turnTo(new URLSearchParams(page)), 'next quiet')
  if (target) leads.Location = Object.assign(link(operationId, summary), { onclick: () => goTo(target) })
  const rows = headerNames.filter(name => headers.has(name)).flatMap(name =>
    [el('dt', {}, name), el('dd', {}, headers.get(name), ' ', leads[name] ?? '')])
  return [el('dl', {}, ...rows), drawBody(body)]
}
