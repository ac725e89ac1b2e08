// Draws the operations in their groups, with their entries in the navigation.
import { api, codesOf, contentOf, examplesOf, fieldsOf, limitHeaders, operations, ownStatuses, rangeOf, resolve,
  sharedStatuses, typeOf } from './description.js'
import { button, drawMethod, drawStatus, el, fold, inline, link, prose } from './draw.js'
import { Panel } from './panel.js'

function badges({ deprecated, 'x-stability': stability = '' }) {
  return [deprecated && el('span', { class: 'badge warn' }, 'Deprecated'),
    stability && el('span', { class: 'badge' }, stability[0].toUpperCase() + stability.slice(1))].filter(Boolean)
}

function drawFields(fields) {
  return el('ul', { class: 'fields' }, ...fields.map(({ name, in: place, required, schema, description = '' }) => {
    const { default: preset } = resolve(schema), isPreset = preset !== undefined && `default ${preset}`
    const notes = [place, typeOf(schema), rangeOf(schema), isPreset].filter(Boolean).join(', ')
    const line = el('p', {}, el('code', {}, name), ' ', el('small', {}, notes))
    if (required) line.append(' ', el('small', { class: 'required' }, 'required'))
    return el('li', {}, line, el('p', {}, ...inline(description)))
  }))
}

// drawCases lists the examples of a response: a name shows one in the panel, and a button brings the error about.
function drawCases(status, response, panel) {
  return el('ul', { class: 'cases' }, ...examplesOf(response).map(({ summary, 'x-try': mistake }, i) => {
    const item = el('li', {}, button(summary, () => panel.chooseExample(status, i), 'link'))
    if (mistake && panel.canSend) item.append(button(`Try ${status}`, () => panel.provoke(mistake)))
    return item
  }))
}

// drawResponse draws what is described for a status. To open it chooses its example in the panel.
function drawResponse(status, reference, panel) {
  const response = resolve(reference), { schema } = contentOf(response), codes = codesOf(response)
  const headers = Object.entries(response.headers ?? {}).filter(([name]) => !limitHeaders.includes(name))
    .map(([name, header]) => ({ name, in: 'header', ...resolve(header) }))
  const gist = codes.length ? codes.flatMap(code => [el('code', {}, code), ' ']) : inline(response.description)
  const details = el('details', {}, el('summary', {}, drawStatus(status), el('span', {}, ...gist)))
  details.ontoggle = () => details.open && panel.chooseExample(status)
  if (codes.length) details.append(...prose(response.description))
  else if (schema) details.append(el('p', {}, `Body: ${typeOf(schema)}`), drawFields(fieldsOf(schema)))
  if (headers.length) details.append(drawFields(headers))
  details.append(drawCases(status, response, panel))
  return details
}

function drawOperation(operation) {
  const { operationId, summary, description, method, path, inputs, body, responses, deprecated } = operation
  const id = `${operationId}-title`, panel = new Panel(operation), title = link(operationId, summary)
  const about = el('div', { class: 'about' }, el('h4', { id, class: deprecated ? 'deprecated' : '' }, title),
    el('p', { class: 'place' }, drawMethod(method), el('code', {}, path), ...badges(operation)), ...prose(description))
  const parameters = inputs.filter(input => input !== body), fields = body ? fieldsOf(body.schema) : []
  const more = el('div', { class: 'more' })
  for (const [title, list] of Object.entries({ Parameters: parameters, Body: fields }))
    if (list.length) more.append(fold(title, drawFields(list)))
  const rows = ownStatuses(operation).map(status => drawResponse(status, responses[status], panel))
  const also = sharedStatuses.flatMap(status => [drawStatus(status), ' '])
  more.append(fold('Responses', ...rows, el('p', { class: 'also' }, ...also, 'Every operation: see ', link('errors', 'Errors'))))
  return el('article', { id: operationId, 'aria-labelledby': id }, about, panel.form, more)
}

export function drawGroup(tag, level) {
  const title = tag['x-page-title'] ?? tag.name, id = `group-${tag.name}`
  const own = operations.filter(({ tags }) => tags.includes(tag.name))
  const groups = api.tags.filter(child => child['x-parent'] === tag.name).map(child => drawGroup(child, level + 1))
  const links = own.map(operation => link(operation.operationId, drawMethod(operation.method),
    el('span', operation.deprecated ? { class: 'deprecated' } : {}, operation.summary), ...badges(operation)))
  const section = el('section', { id }, el(`h${level}`, {}, title), ...prose(tag.description),
    ...own.map(drawOperation), ...groups.map(({ section }) => section))
  const entry = el('li', {}, el('a', { href: `#${id}`, class: 'group' }, title),
    el('ul', {}, ...links.map(link => el('li', {}, link)), ...groups.map(({ entry }) => entry)))
  return { section, entry }
}
