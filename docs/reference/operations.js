// Draws the operations in their groups, with their entries in the navigation.
import { api, contentOf, examplesOf, fieldsOf, limitHeaders, operations, ownStatuses, rangeOf, resolve,
  schemaName, sharedStatuses, typeOf } from './description.js'
import { drawMethod, drawPill, drawStatus, el, inline, link, prose } from './draw.js'
import { Panel, panels } from './panel.js'
const drawLabels = ({ deprecated, 'x-stability': stability }) => [deprecated && 'deprecated', stability]
  .filter(Boolean).flatMap(text => [' ', drawPill(text, text === stability ? 'new' : 'odd')])
export const drawFields = fields => el('ul', { class: 'fields' }, ...fields.map(field => {
  const { name, in: location, required, description = '' } = field, schema = resolve(field.schema)
  const preset = 'default' in schema && `default ${schema.default}`
  const notes = [location, typeOf(schema), rangeOf(schema), preset, required && 'required'].filter(Boolean)
  const title = el('div', {}, el('b', {}, el('code', {}, name)), ' ', el('small', {}, notes.join(', ')))
  return el('li', { class: 'over' }, title, ...prose(description))
}))
function drawResponse(status, reference) {
  const response = resolve(reference), { schema } = contentOf(response), examples = examplesOf(response)
  const codes = [...new Set(examples.flatMap(({ value }) => value.code ?? []))]
  const headers = Object.entries(response.headers ?? {}).filter(([name]) => !limitHeaders.includes(name))
    .map(([name, header]) => ({ name, in: 'header', ...resolve(header) }))
  const fields = [...schema && !codes.length ? fieldsOf(schema) : [], ...headers] // all of which it has
    .map(field => ({ ...field, required: false }))
  const words = codes.length ? codes : schema ? [schemaName(schema)] : [], about = response.description
  const gist = [...words.flatMap(word => [el('code', {}, word), ' ']), ...codes.length ? [] : inline(about)]
  return el('details', { class: 'status over' }, el('summary', {}, drawStatus(status), el('span', {}, ...gist)),
    ...codes.length ? prose(about) : [], ...fields.length ? [drawFields(fields)] : [])
}
function drawOperation(operation) {
  const { operationId, method, path, summary, description, inputs, body, responses } = operation
  const id = `${operationId}-title`, panel = new Panel(operation, { memory: operationId })
  const more = el('div', { class: 'more' }), parameters = inputs.filter(input => input !== body)
  panels.set(operationId, panel)
  if (parameters.length) more.append(el('h4', {}, 'Parameters'), drawFields(parameters))
  if (body) more.append(el('h4', {}, 'Body ', el('code', {}, schemaName(body.schema))),
    drawFields(fieldsOf(body.schema)))
  const rows = ownStatuses(operation).map(status => drawResponse(status, responses[status]))
  const shared = sharedStatuses.flatMap(status => [drawStatus(status), ' '])
  more.append(el('h4', {}, 'Responses'), ...rows,
    el('p', { class: 'soft' }, 'Any request can also get ', ...shared, link('errors', 'See\xa0Errors')))
  const title = el('h3', { id }, link(operationId, summary), ...drawLabels(operation))
  const endpoint = el('div', { class: 'endpoint flex' }, drawMethod(method), el('code', {}, path))
  return el('article', { id: operationId, 'aria-labelledby': id, tabindex: '-1' },
    el('div', { class: 'about' }, title, endpoint, ...prose(description)), panel.form, more)
}
// drawGroup draws the operations of a tag. A tag without any is a part of the names of those below it.
function drawGroup(tag) {
  const parent = api.tags.find(({ name }) => name === tag['x-parent']), id = `group-${tag.name}`
  const title = () => [el('small', {}, `${parent['x-page-title']} / `), tag['x-page-title']]
  const own = operations.filter(({ tags }) => tags.includes(tag.name))
  const drawList = (kind, drawEntry) => el('ul', { class: kind }, ...own.map(operation =>
    el('li', {}, link(operation.operationId, drawMethod(operation.method), ' ', ...drawEntry(operation)))))
  const drawEndpoint = ({ path, summary }) => [el('code', {}, path), ' ', el('small', {}, summary)]
  const about = el('div', { class: 'about' }, el('h2', {}, ...title()), ...prose(tag.description))
  const intro = el('article', {}, about, drawList('endpoints beside box', drawEndpoint))
  const section = el('section', { id, class: 'group over' }, intro, ...own.map(drawOperation))
  return { section, entry: [Object.assign(link(id, ...title()), { className: 'title' }),
    drawList('entries', operation => [el('span', { class: 'cut' }, operation.summary), ...drawLabels(operation)])] }
}
export const groups = api.tags.filter(tag => tag['x-parent']).map(drawGroup)
