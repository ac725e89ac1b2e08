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
  const first = el('div', { class: 'first' }, el('p', { id: 'first' }, 'A first request'), ...parts)
  document.title = $('h1').textContent = title
  $('.brand').append(title, el('small', {}, version))
  $('.facts').append('Base URL: ', el('code', {}, variables?.base_url?.default ?? url), ' · Description: ',
    el('a', { href: '/openapi.json' }, 'openapi.json'), ' · License: ', el('a', { href: license.url }, license.name))
  draw()
  $('#overview').append(...prose(introduction.text), first, ...chapters.map(({ title, id, text }) =>
    el('section', { id, class: 'chapter' }, el('h2', { id: `${id}-title` }, title), ...prose(text))))
  tellApart(first, 'first')
  drawErrors()
  $('nav details ul').append(...[{ id: 'overview', title: 'Overview' }, ...chapters].map(({ id, title }) =>
    el('li', {}, el('a', { href: `#${id}` }, title))))
}

// mistakeOf finds a try-out and a mistake for a status: of an operation, or of the whole API.
function mistakeOf(status) {
  const ofAll = api.info['x-try']?.[status]
  for (const tryOut of tryOuts.filter(({ canSend }) => canSend)) {
    const examples = examplesOf(resolve(tryOut.operation.responses[status] ?? {}))
    const mistake = examples.map(example => example['x-try']).find(Boolean) ?? ofAll
    if (mistake) return { tryOut, mistake }
  }
}

function drawErrors() {
  for (const row of $('#errors tbody')?.rows ?? []) {
    const status = row.cells[0].textContent, { tryOut, mistake } = mistakeOf(status) ?? {}
    const name = mistake?.until ? `Send until ${status}` : `Try ${status}`
    if (mistake) row.lastChild.append(' ', button(name, () => tryOut.provoke(mistake, row)))
  }
  const shared = sharedStatuses.map(status => drawResponse(status, operations[0].responses[status]))
  $('#errors')?.append(el('p', {}, 'Every operation can return these:'), el('div', {}, ...shared))
  tellApart($('#overview'), 'errors-title')
}
