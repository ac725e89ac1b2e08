// Draws the overview: what the API is, a first request, and a chapter for each part of the description.
import { api, chapters, examplesOf, introduction, operations, resolve } from './description.js'
import { $, button, el, link, prose } from './draw.js'
import { Panel, untilBan } from './panel.js'

export function drawOverview() {
  const { title, version } = api.info, { url, variables } = api.servers[0]
  $('.brand span').append(document.title = $('h1').textContent = title, ' ', el('small', {}, version))
  $('.facts code').textContent = variables?.base_url?.default ?? url
  const name = 'A first request', { form } = new Panel(operations[0], name)
  $('#overview .about').append(...prose(introduction.text))
  $('#overview').append(el('section', { id: 'first' }, el('h2', {}, name), form), el('div', { class: 'more' },
    ...chapters.map(({ title, id, text }) => el('section', { id }, el('h2', {}, link(id, title)), ...prose(text)))))
  for (const row of $('#errors tbody')?.rows ?? []) addTry(row)
  return el('li', {}, el('a', { href: '#overview', class: 'group' }, 'Overview'),
    el('ul', { class: 'chapters' }, ...chapters.map(({ title, id }) => el('li', {}, link(id, title)))))
}

// addTry adds a button to an error code, if there is an example of it that can be tried. It opens a panel in the row.
function addTry(row) {
  const [status, code] = [...row.cells].map(cell => cell.textContent), cell = row.insertCell()
  row.id = code
  row.cells[0].className = status < 400 ? 'good' : 'bad'
  const mistakeOf = ({ responses, 'x-hideTryItPanel': isHidden }) => !isHidden && (api.info['x-try']?.[status]
    ?? examplesOf(resolve(responses[status] ?? {})).find(({ value }) => value.code === code)?.['x-try'])
  const operation = operations.find(mistakeOf), mistake = operation && mistakeOf(operation)
  if (!mistake) return
  const name = mistake.until === 403 ? untilBan : mistake.until ? `Send until ${status}` : `Try ${status}`
  let panel
  cell.append(Object.assign(button(name, () => {
    if (!panel) row.insertCell().append((panel = new Panel(operation, code)).form)
    panel.provoke(mistake)
  }), { ariaLabel: `${name}: ${code}` }))
}
