// Draws the operations in their groups, with their entries in the navigation.
import { api, contentOf, examplesOf, fieldsOf, limitHeaders, operations, ownStatuses, rangeOf, resolve, sharedStatuses,
  typeOf } from './description.js'
import { button, drawMethod, drawStatus, el, fold, inline, link, prose } from './draw.js'
import { Panel } from './panel.js'

const drawBadges = ({ deprecated, 'x-stability': stability }) => [deprecated && 'Deprecated', stability].filter(Boolean)
  .map(text => el('span', { class: deprecated ? 'badge warn' : 'badge' }, text[0].toUpperCase() + text.slice(1)))

export function drawFields(fields) {
  return el('ul', { class: 'fields' }, ...fields.map(({ name, in: place, required, schema, description = '' }) => {
    const { default: preset } = resolve(schema), isPreset = preset !== undefined && `default ${preset}`
    const notes = [place, typeOf(schema), rangeOf(schema), isPreset].filter(Boolean).join(', ')
    const mark = required ? el('small', { class: 'required' }, ' required') : ''
    return el('li', {}, el('p', {}, el('code', {}, name), ' ', el('small', {}, notes), mark),
      el('p', {}, ...inline(description)))
  }))
}
// drawResponse draws what is described for a status. To open it chooses its example in the panel.
function drawResponse(status, reference, panel) {
  const response = resolve(reference), { schema } = contentOf(response), examples = examplesOf(response)
  const codes = [...new Set(examples.flatMap(({ value }) => value.code ?? []))]
  const headers = Object.entries(response.headers ?? {}).filter(([name]) => !limitHeaders.includes(name))
    .map(([name, header]) => ({ name, in: 'header', ...resolve(header) }))
  const fields = [...schema && !codes.length ? fieldsOf(schema) : [], ...headers]
  const cases = examples.map(({ summary, 'x-try': mistake }, i) => {
    const trial = button(`Try ${status}`, () => panel.provoke(mistake))
    trial.ariaLabel = `Try ${status}: ${summary}`
    trial.hidden = !mistake || !panel.canSend
    return el('li', {}, button(summary, () => panel.chooseExample(status, i), 'link'), trial)
  })
  const gist = codes.length ? codes.flatMap(code => [el('code', {}, code), ' ']) : inline(response.description)
  const details = el('details', {}, el('summary', {}, drawStatus(status), el('span', {}, ...gist)),
    ...codes.length ? prose(response.description) : [], drawFields(fields), el('ul', { class: 'cases' }, ...cases))
  details.ontoggle = () => details.open && panel.chooseExample(status)
  return details
}

function drawOperation(operation) {
  const { operationId, summary, description, method, path, inputs, body, responses, deprecated } = operation
  const id = `${operationId}-title`, panel = new Panel(operation), more = el('div', { class: 'more' })
  const title = el('h4', { id }, el(deprecated ? 's' : 'span', {}, link(operationId, summary)))
  const place = el('p', { class: 'place' }, drawMethod(method), el('code', {}, path), ...drawBadges(operation))
  const parameters = inputs.filter(input => input !== body), fields = body ? fieldsOf(body.schema) : []
  for (const [title, list] of Object.entries({ Parameters: parameters, Body: fields }))
    if (list.length) more.append(fold(title, drawFields(list)))
  const rows = ownStatuses(operation).map(status => drawResponse(status, responses[status], panel))
  const also = el('p', { class: 'also' }, ...sharedStatuses.flatMap(status => [drawStatus(status), ' ']),
    'Every operation: see ', link('errors', 'Errors'))
  more.append(fold('Responses', ...rows, also))
  const about = el('div', { class: 'about' }, title, place, ...prose(description))
  return el('article', { id: operationId, 'aria-labelledby': id }, about, panel.form, more)
}

export function drawGroup(tag, level) {
  const title = tag['x-page-title'] ?? tag.name, id = `group-${tag.name}`
  const own = operations.filter(({ tags }) => tags.includes(tag.name))
  const groups = api.tags.filter(child => child['x-parent'] === tag.name).map(child => drawGroup(child, level + 1))
  const links = own.map(operation => link(operation.operationId, drawMethod(operation.method),
    el(operation.deprecated ? 's' : 'span', {}, operation.summary), ...drawBadges(operation)))
  const section = el('section', { id }, el(`h${level}`, {}, title), ...prose(tag.description),
    ...own.map(drawOperation), ...groups.map(({ section }) => section))
  const entry = el('li', {}, el('a', { href: `#${id}`, class: 'group' }, title),
    el('ul', {}, ...links.map(link => el('li', {}, link)), ...groups.map(({ entry }) => entry)))
  return { section, entry }
}
