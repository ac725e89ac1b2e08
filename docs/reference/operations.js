// Draws the operations in their groups, with their entries in the navigation.
import { api, contentOf, examplesOf, fieldsOf, limitHeaders, operations, ownStatuses, rangeOf, resolve, sharedStatuses,
  typeOf } from './description.js'
import { drawJSON } from './code.js'
import { button, drawMethod, drawStatus, el, inline, link, prose } from './draw.js'
import { Panel, panels } from './panel.js'
import { recall } from './settings.js'

const drawLabels = ({ deprecated, 'x-stability': stability }) => [deprecated && 'deprecated', stability].filter(Boolean)
  .flatMap(text => [' ', el('small', { class: 'label' }, text)])
export const drawFields = fields => el('ul', { class: 'fields' }, ...fields.map(field => {
  const { name, in: place, required, description = '' } = field, schema = resolve(field.schema)
  const preset = 'default' in schema && `default ${schema.default}`
  const notes = [place, typeOf(schema), rangeOf(schema), preset, required && 'required'].filter(Boolean).join(', ')
  return el('li', {}, el('p', {}, el('code', {}, name), ' ', el('small', {}, notes)), ...prose(description))
}))
// drawCase draws an example. That of an error can be tried, if a request can bring it about.
function drawCase({ summary, value, 'x-try': mistake }, status, panel) {
  const trial = button(`Try ${status}`, () => panel.tryOut(mistake, status), 'quiet')
  trial.ariaLabel = `Try ${status}: ${summary}`
  return el('details', { class: 'case' }, el('summary', {}, summary), ...drawJSON(value),
    ...mistake && panel.operation.canSend ? [trial] : [])
}
function drawStatusRow(status, reference, panel) {
  const response = resolve(reference), { schema } = contentOf(response), examples = examplesOf(response)
  const codes = [...new Set(examples.flatMap(({ value }) => value.code ?? []))]
  const headers = Object.entries(response.headers ?? {}).filter(([name]) => !limitHeaders.includes(name))
    .map(([name, header]) => ({ name, in: 'header', ...resolve(header) }))
  const fields = [...schema && !codes.length ? fieldsOf(schema) : [], ...headers] // all of which it has
    .map(field => ({ ...field, required: false }))
  const gist = codes.length ? codes.flatMap(code => [el('code', {}, code), ' ']) : inline(response.description)
  return el('details', { class: 'status' }, el('summary', {}, drawStatus(status), el('span', {}, ...gist)),
    ...codes.length ? prose(response.description) : [], drawFields(fields),
    ...examples.map(example => drawCase(example, status, panel)))
}
function drawOperation(operation) {
  const { operationId, summary, description, inputs, body, responses } = operation
  const id = `${operationId}-title`, panel = new Panel(operation), more = el('div', { class: 'more' })
  const typed = recall('sessionStorage', operationId)
  panels.set(operationId, typed ? panel.setValues(typed) : panel)
  const parameters = inputs.filter(input => input !== body), fields = body ? fieldsOf(body.schema) : []
  for (const [title, list] of Object.entries({ Parameters: parameters, Body: fields }))
    if (list.length) more.append(el('h4', {}, title), drawFields(list))
  const rows = ownStatuses(operation).map(status => drawStatusRow(status, responses[status], panel))
  more.append(el('h4', {}, 'Responses'), ...rows, el('p', { class: 'also' }, 'Any request can also get ',
    ...sharedStatuses.flatMap((status, i) => [i ? ', ' : '', drawStatus(status)]), ': see ', link('errors', 'Errors')))
  const title = el('h3', { id }, link(operationId, summary), ...drawLabels(operation))
  return el('article', { id: operationId, 'aria-labelledby': id, tabindex: '-1' },
    el('div', { class: 'about' }, title, ...prose(description)), panel.form, more)
}
// drawGroup draws the operations of a tag. A tag without any is a part of the names of those below it.
export function drawGroup(tag) {
  const parent = api.tags.find(({ name }) => name === tag['x-parent']), id = `group-${tag.name}`
  const title = () => [el('small', {}, `${parent['x-page-title']} / `), tag['x-page-title']]
  const own = operations.filter(({ tags }) => tags.includes(tag.name))
  const links = own.map(operation => link(operation.operationId, drawMethod(operation.method), ' ',
    el('span', {}, operation.summary), ...drawLabels(operation)))
  const section = el('section', { id, class: 'group' }, el('h2', {}, ...title()), ...prose(tag.description),
    ...own.map(drawOperation))
  return { section, entry: [Object.assign(link(id, ...title()), { className: 'title' }),
    el('ul', {}, ...links.map(link => el('li', {}, link)))] }
}
