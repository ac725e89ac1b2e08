// Draws the overview: what the API is, a first request, and a chapter for each part of the description.
import { api, chapters, examplesOf, introduction, operations, resolve } from './description.js'
import { $, button, el, link, prose } from './draw.js'
import { Panel, untilBan } from './panel.js'

export function drawOverview() {
  const { title, version, license } = api.info, { url, variables } = api.servers[0], panel = new Panel(operations[0])
  $('.brand span').append(document.title = $('h1').textContent = title, ' ', el('small', {}, version))
  $('.facts').append('Base URL ', el('code', {}, variables?.base_url?.default ?? url), ' · ',
    el('a', { href: '/openapi.json' }, 'openapi.json'), ' · ', el('a', { href: '/healthz' }, 'healthz'), ' · ',
    el('a', { href: license.url }, license.name))
  const heading = el('h2', {}, 'A first request'), first = el('section', { id: 'first' }, heading, panel.form)
  panel.response.before(panel.sample)
  $('#overview .about').append(...prose(introduction.text))
  $('#overview').append(first, el('div', { class: 'more' }, ...chapters.map(({ title, id, text }) =>
    el('section', { id }, el('h2', {}, link(id, title)), ...prose(text)))))
  drawTries(panel, heading)
  const chapterLinks = chapters.map(({ title, id }) => el('li', {}, link(id, title)))
  return el('li', {}, el('a', { href: '#overview', class: 'group' }, 'Overview'), el('ul', { class: 'chapters' }, ...chapterLinks))
}

// Each code of the chapter on errors is tried with an operation that has an example of it, in the first panel.
function drawTries(panel, heading) {
  for (const row of $('#errors tbody')?.rows ?? []) {
    const [status, code] = [...row.cells].map(cell => cell.textContent), ofAll = api.info['x-try']?.[status]
    const mistakeOf = ({ responses }) =>
      examplesOf(resolve(responses[status] ?? {})).find(({ value, 'x-try': mistake }) => mistake && value.code === code)?.['x-try']
    const operation = operations.find(operation => !operation['x-hideTryItPanel'] && (mistakeOf(operation) ?? ofAll))
    const cell = row.insertCell(), mistake = operation && (mistakeOf(operation) ?? ofAll)
    row.cells[0].className = status < 400 ? 'good' : 'bad'
    if (!mistake) continue
    const name = mistake.until === 403 ? untilBan : mistake.until ? `Send until ${status}` : 'Try'
    const trial = button(name, () => {
      heading.replaceChildren(link(operation.operationId, operation.summary))
      panel.adopt(operation).provoke(mistake)
    })
    if (name === 'Try') trial.ariaLabel = `Try ${code}`
    cell.append(trial)
  }
}
