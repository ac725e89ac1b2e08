// Draws a response, or before there is one, an example of each.
import { $, button, copyButton, el, fold } from './dom.js'
import { examplesOf, operationAt, resolve, sharedStatuses } from './description.js'
import { limitHeaders } from './limits.js'
import { duration } from './meter.js'
import { choose, settings } from './settings.js'
import { drawJSON, drawStatus, table } from './text.js'

const shownHeaders = ['Retry-After', ...limitHeaders, 'Location', 'Link', 'Allow', 'Deprecation', 'Sunset',
  'WWW-Authenticate']
const drawBody = body => body === '' ? el('p', {}, 'The response has no body.') : drawJSON(body)

export function drawExamples({ responses }) {
  const own = Object.keys(responses).filter(status => !sharedStatuses.includes(status)), shown = el('div')
  const choices = el('div', { class: 'choices', role: 'group', 'aria-label': 'Status' })
  for (const status of own) {
    const choice = button('', () => {
      for (const other of choices.children) other.ariaPressed = other === choice
      shown.replaceChildren(drawBody(examplesOf(resolve(responses[status]))[0]?.value ?? ''))
      $('pre', shown)?.setAttribute('tabindex', '0') // it may scroll
    })
    choice.append(drawStatus(status))
    choices.append(choice)
  }
  choices.firstChild.onclick()
  return fold('Example response', own.join(', '), choices, shown)
}

export function drawOutcome({ method, path, failure, status, statusText, took, count, note, restored }) {
  const [head, rest] = failure ? ['No response', `: ${failure}`] : [`${status} ${statusText}`, ` in\xa0${took}\xa0ms`]
  const number = count ? `, request\xa0${count}` : '', when = restored ? `, ${restored}` : ''
  return [el('code', {}, `${method} ${path}`), ' ', drawStatus(status, head), rest + number + when,
    note ? el('strong', {}, ` ${note}`) : '']
}

function inSeconds(name, value) {
  if (name === 'Retry-After') return ' seconds'
  const seconds = name.endsWith('Reset') && value - Math.floor(Date.now() / 1000)
  return seconds > 0 ? `, in ${duration(seconds)}` : ''
}

// drawAnswer shows a body below what leads on: its headers, the next page, the new record, a copy.
export function drawAnswer({ headers, body }, turnTo, goTo) {
  const rows = shownHeaders.filter(name => headers.has(name))
    .map(name => [[el('code', {}, name)], [headers.get(name), inSeconds(name, headers.get(name))]])
  const page = headers.get('Link')?.match(/<[^<>?]*([^<>]*)>; *rel="next"/)?.[1], place = headers.get('Location')
  const summary = el('summary', {}, 'Headers'), drawn = drawBody(body)
  const details = el('details', {}, summary, table('headers', ['Header', 'Value'], rows))
  details.open = settings.showsHeaders || headers.has('Retry-After')
  summary.onclick = () => choose('showsHeaders', !details.open)
  const parts = [details]
  if (place) parts.push(el('p', { class: 'next' }, 'Location: ', locationLink(place, goTo)))
  if (page) parts.push(button('Next page', () => turnTo(new URLSearchParams(page)), 'next quiet'))
  if (body !== '') parts.push(copyButton(drawn, () => JSON.stringify(body, null, 2)))
  return [...parts, drawn]
}

function locationLink(path, goTo) {
  const { operation, values } = operationAt(path)
  return Object.assign(el('a', { href: `#${operation.operationId}` }, path), { onclick: () => goTo(operation, values) })
}
