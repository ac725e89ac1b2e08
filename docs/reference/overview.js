// Draws the overview: what the API is, a first request, and a chapter for each part of the description.
import { api, examplesOf, introduction, operations, proseOf, resolve } from './description.js'
import { $, button, drawTable, el, inline, link, prose } from './draw.js'
import { drawFields } from './operations.js'
import { Panel, untilBan } from './panel.js'

const { headers, parameters, responses, schemas, securitySchemes } = api.components
const field = (name, place, definition) => ({ name, in: place, ...definition })
const limits = Object.entries(api.info['x-plans']).map(([plan, { perMinute = 'custom', perDay = 'custom' }]) =>
  [plan[0].toUpperCase() + plan.slice(1), perMinute, perDay].map(cell => [cell]))
const codes = Object.entries(schemas.Error.properties.code['x-enumDescriptions']).map(([code, text]) => {
  const [status, ...sentences] = text.split('. ')
  return [[status], [el('code', {}, code)], inline(sentences.join('. '))]
})
const chapters = {
  Authentication: Object.values(securitySchemes).flatMap(({ description }) => prose(description)),
  CORS: [],
  'Rate limits': [drawTable(['Plan', 'Requests per minute', 'Requests per day'], limits), drawFields([
    field('X-RateLimit-Limit', 'header', headers.RateLimitLimit),
    field('X-RateLimit-Remaining', 'header', headers.RateLimitRemaining),
    field('X-RateLimit-Reset', 'header', headers.RateLimitReset), field('Retry-After', 'header', headers.RetryAfter)]),
  ...prose(responses.KeyBanned.description)],
  Paging: [drawFields([parameters.Limit, parameters.After, field('Link', 'header', headers.NextLink)])],
  'Request bodies': [],
  Errors: [...prose(schemas.Error.description), drawTable(['Status', 'Code', 'Meaning'], codes)],
  Versions: [drawFields([field('Deprecation', 'header', headers.Deprecation), field('Sunset', 'header', headers.Sunset)])],
}
const idOf = title => title.toLowerCase().replace(/\W+/g, '-')

export function drawOverview() {
  const { title, version } = api.info, { url, variables } = api.servers[0]
  $('.brand span').append(document.title = $('h1').textContent = title, ' ', el('small', {}, version))
  $('.facts code').textContent = variables?.base_url?.default ?? url
  const name = 'A first request', { form } = new Panel(operations[0], name)
  $('#overview .about').append(...prose(introduction))
  $('#overview').append(el('section', { id: 'first' }, el('h2', {}, name), form), el('div', { class: 'more' },
    ...Object.entries(chapters).map(([title, content]) => el('section', { id: idOf(title) },
      el('h2', {}, link(idOf(title), title)), ...prose(proseOf[title]), ...content))))
  for (const row of $('#errors tbody')?.rows ?? []) addTry(row)
  return el('li', {}, el('a', { href: '#overview', class: 'group' }, 'Overview'),
    el('ul', { class: 'chapters' }, ...Object.keys(chapters).map(title => el('li', {}, link(idOf(title), title)))))
}

// addTry adds a button to an error code, if there is an example of it that can be tried. It opens a panel in the row.
function addTry(row) {
  const [status, code] = [...row.cells].map(cell => cell.textContent), cell = row.insertCell()
  row.id = code
  row.cells[0].className = status < 400 ? 'good' : 'bad'
  const mistakeOf = ({ responses, 'x-hideTryItPanel': isHidden }) => !isHidden && 
    examplesOf(resolve(responses[status] ?? {})).find(({ value }) => value.code === code)?.['x-try']
  const operation = operations.find(mistakeOf), mistake = operation && mistakeOf(operation)
  if (!mistake) return
  const name = mistake.until === 403 ? untilBan : mistake.until ? `Send until ${status}` : `Try ${status}`
  let panel
  cell.append(Object.assign(button(name, () => {
    if (!panel) row.insertCell().append((panel = new Panel(operation, code)).form)
    panel.provoke(mistake)
  }), { ariaLabel: `${name}: ${code}` }))
}
