// Draws a response, or before there is one, an example of each.
import { button, copyButton, drawJSON, drawStatus, el, fold, table } from './draw.js'
import { examplesOf, operationAt, ownStatuses, resolve } from './description.js'
import { limitHeaders } from './limits.js'
import { duration } from './meter.js'
import { choose, settings } from './settings.js'

const others = ['Location', 'Link', 'Allow', 'Deprecation', 'Sunset', 'WWW-Authenticate']
const shownHeaders = ['Retry-After', ...limitHeaders, ...others]
const drawBody = body => body === '' ? el('p', {}, 'The response has no body.') : drawJSON(body)
export function drawExamples(operation) {
  const own = ownStatuses(operation), choices = el('div', { class: 'choices', role: 'group', 'aria-label': 'Status' })
  const details = fold('Example response', own.join(', '), choices, '')
  for (const status of own) {
    const choice = button(drawStatus(status), () => {
      for (const other of choices.children) other.ariaPressed = other === choice
      details.lastChild.replaceWith(drawBody(examplesOf(resolve(operation.responses[status]))[0]?.value ?? ''))
      details.lastChild.tabIndex = 0 // it may scroll
    })
    choices.append(choice)
  }
  choices.firstChild.onclick()
  return details
}

export function drawOutcome({ method, path, unsent, failure, status, statusText, took, count, note = '', restored }) {
  if (unsent) return [`Not sent: ${unsent}.`]
  const [head, time] = failure ? ['No response', ''] : [`${status} ${statusText}`, ` in\xa0${took}\xa0ms`]
  const more = [time, count && `request\xa0${count}`, restored].filter(part => part !== undefined).join(', ')
  const end = failure ? `: ${failure}` : note && '. '
  return [el('code', {}, `${method} ${path}`), ' ', drawStatus(status, head), more + end, el('strong', {}, note)]
}
const units = { // what a number means to a person
  'Retry-After': seconds => seconds === '1' ? ' second' : ' seconds',
  'X-RateLimit-Reset': (time, now) => `, in ${duration(Math.max(0, Math.floor(time - now / 1000)))} when received`,
}
// drawAnswer shows a body below what leads on: its headers, the next page, the new record, a copy.
export function drawAnswer({ headers, body, received }, turnTo, goTo) {
  const names = shownHeaders.filter(name => headers.has(name)), place = headers.get('Location')
  const meaningOf = name => units[name]?.(headers.get(name), received) ?? ''
  const rows = names.map(name => [[el('code', {}, name)], [headers.get(name), meaningOf(name)]])
  const page = headers.get('Link')?.match(/<[^<>?]*([^<>]*)>; *rel="next"/)?.[1]
  const summary = el('summary', {}, 'Headers'), drawn = drawBody(body)
  const details = el('details', {}, summary, table('headers', ['Header', 'Value'], rows))
  details.open = settings.showsHeaders || headers.has('Retry-After')
  summary.onclick = () => choose('showsHeaders', !details.open)
  const target = place && operationAt(place), link = el('a', { href: `#${target?.operation.operationId}` }, place ?? '')
  link.onclick = () => goTo(target)
  return [
    details, target ? el('p', { class: 'next' }, 'Location: ', link) : '',
    page ? button('Next page', () => turnTo(new URLSearchParams(page)), 'next quiet') : '',
    body === '' ? '' : copyButton('Copy body', drawn, () => JSON.stringify(body, null, 2)), drawn,
  ]
}
