// Draws the overview: what the API is, a first request, and a chapter for each part of the description.
import { api, chapters, examplesOf, introduction, operations, resolve } from './description.js'
import { $, button, el, link, prose } from './draw.js'
import { Panel, untilBan } from './panel.js'

export function drawOverview() {
  const { title, version, license } = api.info, { url, variables } = api.servers[0]
  $('.brand span').append(document.title = $('h1').textContent = title, ' ', el('small', {}, version))
  $('.facts').append('Base URL ', el('code', {}, variables?.base_url?.default ?? url))
  for (const [name, href] of [['openapi.json', '/openapi.json'], ['healthz', '/healthz'], [license.name, license.url]])
    $('.facts').append(' · ', el('a', { href }, name))
  const heading = el('h2', {}, 'A first request'), panel = new Panel(operations[0], heading.textContent)
  $('#overview .about').append(...prose(introduction.text))
  $('#overview').append(el('section', { id: 'first' }, heading, panel.form), el('div', { class: 'more' },
    ...chapters.map(({ title, id, text }) => el('section', { id }, el('h2', {}, link(id, title)), ...prose(text)))))
  for (const row of $('#errors tbody')?.rows ?? []) addTry(row, panel, heading)
  return el('li', {}, el('a', { href: '#overview', class: 'group' }, 'Overview'),
    el('ul', { class: 'chapters' }, ...chapters.map(({ title, id }) => el('li', {}, link(id, title)))))
}

// addTry adds a button to an error code, if there is an example of it that can be tried, in the first panel.
function addTry(row, panel, heading) {
  const [status, code] = [...row.cells].map(cell => cell.textContent), cell = row.insertCell()
  row.cells[0].className = status < 400 ? 'good' : 'bad'
  const mistakeOf = ({ responses, 'x-hideTryItPanel': isHidden }) => !isHidden && (api.info['x-try']?.[status]
    ?? examplesOf(resolve(responses[status] ?? {})).find(({ value }) => value.code === code)?.['x-try'])
  const operation = operations.find(mistakeOf), mistake = operation && mistakeOf(operation)
  if (!mistake) return
  const name = mistake.until === 403 ? untilBan : mistake.until ? `Send until ${status}` : `Try ${status}`
  cell.append(Object.assign(button(name, () => {
    heading.replaceChildren(link(operation.operationId, operation.summary))
    panel.adopt(operation).provoke(mistake)
  }), { ariaLabel: `${name}: ${code}` }))
}
