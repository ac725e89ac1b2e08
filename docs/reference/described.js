// Draws what is described: the overview, and the operations in their groups, with their entries in the navigation.
import { makeRequest } from './client.js'
import { api, chapters, contentOf, examplesOf, fieldsOf, introduction, operations, ownStatuses, resolve, sharedStatuses,
  typeOf } from './description.js'
import { $, button, drawJSON, el, fieldTable, fold, inline, prose, tellApart } from './draw.js'
import { limitHeaders } from './limits.js'
import { drawSample } from './sample.js'
import { TryOut, tryOuts } from './tryout.js'

const drawMethod = method => el('b', { class: `method ${method}` }, method)
const link = (id, ...content) => el('a', { href: `#${id}` }, ...content)
function badges({ deprecated, 'x-stability': stability = '' }) {
  return [deprecated && el('span', { class: 'badge warn' }, 'Deprecated'),
    stability && el('span', { class: 'badge' }, stability[0].toUpperCase() + stability.slice(1))].filter(Boolean)
}

function drawOperation(operation) {
  const { operationId, summary, description, method, path, inputs, body, responses } = operation
  const about = el('div', { class: 'about' }, el('h4', { id: `${operationId}-title` }, link(operationId, summary)),
    el('p', { class: 'address' }, drawMethod(method), el('code', {}, path), ...badges(operation)),
    ...prose(description))
  const parameters = inputs.filter(input => input !== body), fields = body ? fieldsOf(body.schema) : []
  for (const [title, list] of Object.entries({ Parameters: parameters, Body: fields }))
    if (list.length) about.append(fold(title, list.map(({ name }) => name).join(', '), fieldTable(list)))
  const tryOut = new TryOut(operation), own = ownStatuses(operation)
  about.append(fold('Responses', own.join(', '), ...own.map(status => drawResponse(status, responses[status], tryOut)),
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
  const section = el('section', { id }, el(`h${level}`, {}, title), ...prose(tag.description),
    ...own.map(drawOperation), ...groups.map(({ section }) => section))
  const entry = el('li', {}, el('a', { href: `#${id}`, class: 'group' }, title),
    el('ul', {}, ...links.map(link => el('li', {}, link)), ...groups.map(({ entry }) => entry)))
  return { section, entry }
}

export function drawOverview() {
  const { title, version, license } = api.info, { url, variables } = api.servers[0]
  const { parts, draw } = drawSample(key => makeRequest(operations[0], {}, key || 'KEY'))
  const first = el('div', { class: 'first' }, el('p', { id: 'first' }, 'A first request'), ...parts)
  $('.brand').append(document.title = $('h1').textContent = title, el('small', {}, version))
  $('.facts').append('Base URL: ', el('code', {}, variables?.base_url?.default ?? url), ' · OpenAPI: ',
    el('a', { href: '/openapi.json' }, 'openapi.json'), ' · License: ', el('a', { href: license.url }, license.name))
  draw()
  $('#overview').append(...prose(introduction.text), first, ...chapters.map(({ title, id, text }) =>
    el('section', { id, class: 'chapter' }, el('h2', { id: `${id}-title` }, title), ...prose(text))))
  drawErrors()
  tellApart(first, 'first')
  tellApart($('#errors') ?? first, 'errors-title')
  $('nav details ul').append(...[{ id: 'overview', title: 'Introduction' }, ...chapters].map(({ id, title }) =>
    el('li', {}, link(id, title))))
}

// A status is tried by a mistake in the examples of an operation, or of the whole API.
function drawErrors() {
  for (const row of $('#errors tbody')?.rows ?? []) {
    const status = row.cells[0].textContent, ofAll = { 'x-try': api.info['x-try']?.[status] }
    const mistakeOf = ({ operation: { responses }, canSend }) => canSend
      && [...examplesOf(resolve(responses[status] ?? {})), ofAll].find(example => example['x-try'])?.['x-try']
    const tryOut = tryOuts.find(mistakeOf), mistake = tryOut && mistakeOf(tryOut)
    const name = mistake?.until ? `Send until ${status}` : `Try ${status}`
    if (mistake) row.lastChild.append(' ', button(name, () => tryOut.provoke(mistake, row)))
  }
  const shared = sharedStatuses.map(status => drawResponse(status, operations[0].responses[status]))
  $('#errors')?.append(el('p', {}, 'Every operation can return these:'), el('div', {}, ...shared))
}
