// Draws the overview: an introduction with a first request, and the chapters. That of the errors has a button for each.
import { $, button, el, tellApart } from './dom.js'
import { api, chapters, examplesOf, introduction, operations, resolve, sharedStatuses } from './description.js'
import { makeRequest } from './client.js'
import { drawResponse } from './operations.js'
import { drawSample } from './sample.js'
import { prose } from './text.js'
import { tryOuts } from './tryout.js'

export function drawOverview() {
  const { title, version, license } = api.info, { url, variables } = api.servers[0]
  const { parts, draw } = drawSample(key => makeRequest(operations[0], {}, key))
  document.title = $('h1').textContent = title
  $('.brand').append(title, el('small', {}, version))
  $('.facts').append('Base URL: ', el('code', {}, variables?.base_url?.default ?? url), ' · Description: ',
    el('a', { href: '/openapi.json' }, 'openapi.json'), ' · License: ', el('a', { href: license.url }, license.name))
  const first = el('div', { class: 'first' }, el('p', { id: 'first-title' }, 'A first request'), ...parts)
  draw()
  tellApart(first, 'first-title')
  $('#overview').append(...prose(introduction.text), first, ...chapters.map(({ title, id, text }) =>
    el('section', { id, class: 'chapter' }, el('h2', {}, title), ...prose(text))))
  drawErrors()
  $('nav details ul').append(...[{ id: 'overview', title: 'Overview' }, ...chapters].map(({ id, title }) =>
    el('li', {}, el('a', { href: `#${id}` }, title))))
}

// mistakeOf finds a try-out and a mistake for a status: of an operation, or of the whole API.
function mistakeOf(status) {
  const ofAll = api.info['x-try']?.[status]
  for (const tryOut of tryOuts.filter(({ inputs }) => inputs.length)) {
    const examples = examplesOf(resolve(tryOut.operation.responses[status] ?? {}))
    const mistake = examples.map(example => example['x-try']).find(Boolean) ?? ofAll
    if (mistake) return { tryOut, mistake }
  }
}

function drawErrors() {
  for (const row of $('#errors tbody').rows) {
    const status = row.cells[0].textContent, found = mistakeOf(status)
    const name = found?.mistake.until ? `Send until ${status}` : `Try ${status}`
    if (found) row.lastChild.append(' ', button(name, () => found.tryOut.provoke(found.mistake, row)))
  }
  tellApart($('#errors'), 'errors-title')
  $('#errors').append(el('p', {}, 'Every operation can return these:'),
    el('div', {}, ...sharedStatuses.map(status => drawResponse(status, operations[0].responses[status]))))
}
