// Draws the operations and their groups, with their entries in the navigation.
import { button, el, fold } from './dom.js'
import { api, contentOf, examplesOf, fieldsOf, operations, ownStatuses, resolve, sharedStatuses, typeOf }
  from './description.js'
import { limitHeaders } from './limits.js'
import { drawJSON, fieldTable, inline, prose } from './text.js'
import { TryOut } from './tryout.js'

const drawMethod = method => el('b', { class: `method ${method}` }, method)
const link = (id, ...content) => el('a', { href: `#${id}` }, ...content)

function badges({ deprecated, 'x-deprecated-sunset': sunset, 'x-stability': stability = '' }, hasRoom) {
  const date = new Date(sunset).toLocaleDateString('en-GB', { dateStyle: 'long', timeZone: 'UTC' })
  const notice = hasRoom && sunset ? `Deprecated, removed after ${date}` : 'Deprecated'
  return [deprecated && el('span', { class: 'badge warn' }, notice),
    stability && el('span', { class: 'badge' }, stability[0].toUpperCase() + stability.slice(1))].filter(Boolean)
}

function drawOperation(operation) {
  const { operationId, summary, description, method, path, inputs, body, responses } = operation
  const about = el('div', { class: 'about' }, el('h4', { id: `${operationId}-title` }, link(operationId, summary)),
    el('p', { class: 'address' }, drawMethod(method), el('code', {}, path), ...badges(operation, true)),
    ...prose(description))
  const parameters = inputs.filter(input => input !== body), fields = body ? fieldsOf(body.schema) : []
  for (const [title, list] of Object.entries({ Parameters: parameters, Body: fields }))
    if (list.length) about.append(fold(title, list.map(({ name }) => name).join(', '), fieldTable(list)))
  const tryOut = new TryOut(operation), own = ownStatuses(operation)
  about.append(fold('Responses', own.join(', '),
    ...own.map(status => drawResponse(status, responses[status], tryOut)),
    el('p', { class: 'also' }, `Also ${sharedStatuses.join(', ')}: see `, link('errors', 'Errors'))))
  return el('article', { id: operationId }, about, tryOut.form)
}

// drawResponse draws what is described for a status; with a try-out, a button for each mistake that leads to it.
export function drawResponse(status, reference, tryOut) {
  const response = resolve(reference), { schema } = contentOf(response)
  const headers = Object.entries(response.headers ?? {}).filter(([name]) => !limitHeaders.includes(name))
    .map(([name, header]) => ({ name, in: 'header', ...resolve(header) }))
  const details = el('details', { class: status < 400 ? 'good' : 'bad' },
    el('summary', {}, el('b', {}, status), ' ', ...inline(response.description)))
  if (schema) details.append(el('p', {}, `Body: ${typeOf(schema)}`))
  if (schema && status < 400) details.append(fieldTable(fieldsOf(schema)))
  if (headers.length) details.append(fieldTable(headers))
  for (const { summary, description, value, 'x-try': mistake } of examplesOf(response)) {
    const figure = el('figure', {}, el('figcaption', {}, `Example: ${summary}`), ...prose(description), drawJSON(value))
    const trial = button(`Try this error: ${status}`, () => tryOut.provoke(mistake, details))
    trial.ariaLabel = `${trial.textContent}, ${summary}, ${tryOut?.operation.summary}`
    if (mistake && tryOut?.canSend) figure.append(trial)
    details.append(figure)
  }
  return details
}

export function drawGroup(tag, level) {
  const title = tag['x-page-title'] ?? tag.name, id = `group-${tag.name}`
  const own = operations.filter(({ tags }) => tags.includes(tag.name))
  const groups = api.tags.filter(child => child['x-parent'] === tag.name).map(child => drawGroup(child, level + 1))
  const links = own.map(operation => link(operation.operationId, drawMethod(operation.method),
    el('span', {}, operation.summary), ...badges(operation)))
  return {
    section: el('section', { id }, el(`h${level}`, {}, title), ...prose(tag.description),
      ...own.map(drawOperation), ...groups.map(({ section }) => section)),
    entry: el('li', {}, el('a', { href: `#${id}`, class: 'group' }, title),
      el('ul', {}, ...links.map(link => el('li', {}, link)), ...groups.map(({ entry }) => entry))),
  }
}
