// Draws the overview: what the API is, a first request, and a chapter for each part of the description.
import { drawCopy } from './code.js'
import { api, codes, introduction, operations, proseOf, resolve } from './description.js'
import { $, all, button, capitalize, drawStatus, el, inline, link, printNumber, prose, react } from './draw.js'
import { drawFields } from './operations.js'
import { Panel } from './panel.js'
import { base, changes, choose, demoKeys, period, settings } from './settings.js'
const { headers, parameters, responses, schemas, securitySchemes } = api.components
const { Deprecation, NextLink, SuccessorLink, Sunset } = headers
const asFields = headers => Object.entries(headers).map(([name, header]) =>
  ({ name, ...resolve(header), required: false }))
const nameUntil = status => `Send until ${status}${status === 403 ? ' (bans this key)' : ''}`
function drawPlans() {
  const drawRow = kind => cells => el('tr', {}, ...cells.map(cell =>
    el(kind, { class: kind === 'th' ? 'under soft' : 'under' }, cell)))
  const head = ['Plan', `Per ${period}`, 'Per day', ...demoKeys.length ? ['Demo key'] : []]
  const rows = Object.entries(api.info['x-plans']).map(([plan, limits]) => {
    const demo = demoKeys.find(demo => demo.plan === plan), { perMinute, perDay } = { ...limits, ...demo }
    const cells = [perMinute, perDay].map(figure => figure ? printNumber(figure) : 'custom')
    const chooseDemo = () => choose('key', demo.key)
    return [capitalize(plan), ...cells, ...demo ? [button(demo.key, chooseDemo, 'link demo')] : []]
  })
  const body = el('tbody', {}, ...rows.map(drawRow('td')))
  const table = el('table', {}, el('thead', {}, drawRow('th')(head)), body)
  const mark = demo => { demo.ariaPressed = demo.textContent === settings.key }
  react(() => all('.demo', table).forEach(mark), [changes, 'key'])
  return table
}
function drawChapter(title, ...content) {
  const id = title.toLowerCase().replace(' ', '-')
  return el('section', { id }, el('h2', {}, link(id, title)), ...prose(proseOf[title]), ...content)
}
const drawChapters = () => [
  drawChapter('Authentication',
    ...Object.values(securitySchemes).flatMap(({ description }) => prose(description))),
  drawChapter('Rate limits', drawPlans(), drawFields(asFields(responses.RateLimited.headers)),
    ...prose(responses.Unauthorized.description), ...prose(responses.KeyBanned.description)),
  drawChapter('Paging', drawFields([parameters.Limit, parameters.After, ...asFields({ Link: NextLink })]),
    drawPagingTrial('quiet')),
  drawChapter('Request bodies'), drawChapter('CORS'),
  drawChapter('Versions', drawFields(asFields({ Deprecation, Sunset, Link: SuccessorLink }))),
]
const heading = 'Your first request', first = new Panel(operations[0], { label: heading })
const tryPaging = () => first.tryOut({ parameters: { limit: '2' } })
const drawPagingTrial = kind => button('Try two pets per page', tryPaging, kind)
const drawFirst = () => el('section', { id: 'first', class: 'aside beside' }, el('h2', { class: 'minor' }, heading),
  first.form, el('ul', { class: 'actions' }, el('li', { class: 'flex over' }, drawPagingTrial(), el('small', { class: 'end' }, '/pets?limit=2')),
    el('li', { class: 'flex over' }, link('errors', 'See every error'), el('small', { class: 'end' }, `${codes.length} codes`))),
  el('p', { class: 'hint soft' }, 'Ctrl+Enter sends the form you are in, or else the GET on screen.'))
// drawErrors draws the codes. The one that is tried or linked is marked, with its panel in or beside its row.
function drawErrors() {
  const list = el('ul', { class: 'codes' }), opened = new Map() // panels, by their codes
  function open({ code, status, trial }) {
    $('form', list)?.remove()
    for (const row of all('.row', list)) row.ariaCurrent = row.id === code ? 'true' : null
    if (!trial) return
    const { operation, example } = trial
    if (!opened.has(code)) opened.set(code, new Panel(operation, { heading: code, status, example }))
    $(`#${code}`, list).after(opened.get(code).form)
  }
  list.append(...codes.map(error => {
    const { code, status, description, trial } = error, what = trial?.example['x-try'] ?? {}
    const name = what.until ? nameUntil(what.until) : `Try ${status}`
    const send = button(name, () => {
      history.replaceState(null, '', `#${code}`)
      open(error)
      opened.get(code).tryOut(what, status)
    })
    send.ariaLabel = `${name}: ${code}`
    send.classList.add('end')
    return el('li', {}, el('div', { id: code, class: 'row flex over' }, drawStatus(status),
      link(code, el('code', {}, code)), ...trial ? [send] : [], el('p', {}, ...inline(description))))
  }))
  if (matchMedia('(width >= 75rem)').matches) open(codes[0]) // beside the rows
  const isLinked = ({ code }) => `#${code}` === location.hash
  react(() => codes.filter(isLinked).forEach(open), [window, 'hashchange'])
  const about = el('div', { class: 'about' }, el('h2', {}, link('errors', 'Errors')),
    ...prose(schemas.Error.description), el('p', {}, 'Codes without a button cannot be tried here.'))
  return el('article', { id: 'errors', tabindex: '-1' }, about, list)
}
export function drawOverview() {
  const { title, version } = api.info, chapters = drawChapters(), errors = drawErrors()
  $('.brand').append(el('b', {}, title), el('small', {}, version))
  const about = el('div', { class: 'about' }, el('h1', {}, title), el('p', { class: 'lead' }, introduction),
    el('div', { class: 'base box flex' }, el('small', {}, 'Base URL'), el('code', {}, base),
      el('span', { class: 'end' }, drawCopy('the base URL', () => base))),
    el('p', {}, el('a', { href: 'openapi.json' }, 'OpenAPI description')))
  $('#overview').append(about, drawFirst(), el('div', { class: 'more' }, ...chapters))
  $('#overview').after(errors)
  const links = [...chapters, errors].map(part => el('li', {}, link(part.id, $('h2', part).textContent)))
  return el('ul', { class: 'chapters' }, el('li', {}, link('overview', 'Overview')), ...links)
}
