// Draws the overview: what the API is, a first request, and a chapter for each part of the description.
import { drawCopy } from './code.js'
import { api, codes, introduction, operations, proseOf } from './description.js'
import { $, all, button, capitalize, drawMethod, drawStatus, drawTable, el, inline, link, printNumber, prose, setText, wide }
  from './draw.js'
import { limitsOf, newReading, reading } from './limits.js'
import { newRequest, requests } from './log.js'
import { drawFields } from './operations.js'
import { Panel, panels } from './panel.js'
import { changes, choose, demoKeys, settings } from './settings.js'

const { headers, parameters, responses, schemas, securitySchemes } = api.components
const untilBan = 'Send until 403 (bans this key)'
const idOf = title => title.toLowerCase().replace(/\W+/g, '-')
const asFields = headers => Object.entries(headers).map(([name, header]) => ({ name, ...header, required: false }))
const limits = asFields({ 'X-RateLimit-Limit': headers.RateLimitLimit, 'X-RateLimit-Remaining': headers.RateLimitRemaining,
  'X-RateLimit-Reset': headers.RateLimitReset, 'Retry-After': headers.RetryAfter })
const pages = [parameters.Limit, parameters.After, ...asFields({ Link: headers.NextLink })]
const ends = asFields({ Deprecation: headers.Deprecation, Sunset: headers.Sunset, Link: headers.SuccessorLink })

// drawPlans draws a table of the plans. A demo key is chosen with a press.
function drawPlans() {
  const rows = Object.entries(api.info['x-plans']).map(([plan, limits]) => {
    const demo = demoKeys.find(demo => demo.plan === plan), { perMinute, perDay } = { ...limits, ...demo }
    const cells = [perMinute, perDay].map(figure => figure ? printNumber(figure) : 'custom')
    return [capitalize(plan), ...cells, ...demo ? [button(demo.key, () => choose('key', demo.key), 'link demo')] : []]
  })
  const table = drawTable(['Plan', 'Per minute', 'Per day', ...demoKeys.length ? ['Demo key'] : []], rows)
  const mark = () => { for (const demo of all('.demo', table)) demo.ariaPressed = demo.textContent === settings.key }
  changes.addEventListener('key', mark)
  mark()
  return table
}
const drawChapter = (title, ...content) => el('section', { id: idOf(title) },
  el('h2', {}, link(idOf(title), title)), ...prose(proseOf[title]), ...content)
const drawChapters = () => [
  drawChapter('Authentication', ...Object.values(securitySchemes).flatMap(({ description }) => prose(description))),
  drawChapter('Rate limits', drawPlans(), drawFields(limits), ...prose(responses.KeyBanned.description)),
  drawChapter('Paging', drawFields(pages)),
  drawChapter('Request bodies'),
  drawChapter('CORS'),
  drawChapter('Versions', drawFields(ends)),
]

// drawFirst draws a panel with a first request, and under it what it leads to, and the recent requests.
function drawFirst() {
  const name = 'Your first request', panel = new Panel(operations[0], { name }), list = el('ol'), many = button('', () => {
    panel.provoke({ until: reading(settings.key).state === 'wait' ? 403 : 429 })
  }, 'quiet many')
  function drawMany() {
    const { state, left } = reading(settings.key), requests = (left ?? limitsOf(settings.key).perMinute) + 1
    setText(many, state === 'wait' ? untilBan
      : `Send until 429${requests > 99 ? ` (${printNumber(requests)} requests)` : ''}`)
    many.disabled = state === 'banned'
  }
  newReading.addEventListener('change', drawMany)
  changes.addEventListener('key', drawMany)
  drawMany()
  const drawLog = () => list.replaceChildren(...requests.map(({ operationId, values, added, plan, times, entry }) => {
    const { method, target, status, sentAt } = entry, row = button(drawMethod(method), () => {
      location.hash = operationId
      panels.get(operationId).fill(values, added).show(entry)
    }, 'request')
    row.append(el('code', {}, target), drawStatus(status, status ?? 'no response'), el('small', {}, times > 1 ? `×${times} ` : '', sentAt))
    row.title = plan
    return el('li', {}, row)
  }))
  newRequest.addEventListener('change', drawLog)
  drawLog()
  return el('section', { id: 'first', class: 'aside' }, el('h2', { class: 'minor' }, name), panel.form,
    el('p', { class: 'actions' }, many, el('a', { href: '#errors', class: 'quiet' }, 'See every error')),
    el('p', { class: 'hint' }, 'Ctrl+Enter sends the request in view.'),
    el('section', { class: 'log' }, el('h2', { class: 'minor' }, 'Recent requests'), list))
}

// drawErrors draws the codes, and beside them one panel in which they are tried. A narrow page has it in the row.
function drawErrors() {
  const title = 'Errors', aside = el('div', { class: 'aside' }), tried = new Map()
  let row, panel
  const place = () => panel && (wide.matches ? aside.replaceChildren(el('h3', { class: 'minor' }, row.id), panel.form) : row.append(panel.form))
  function open({ code, status, trial: { operation, example } }) {
    if (!tried.has(code)) tried.set(code, new Panel(operation, { name: code, status, example }).prepare(example['x-try']))
    panel?.form.remove()
    row?.removeAttribute('aria-current')
    row = rows.find(({ id }) => id === code)
    row.ariaCurrent = 'true'
    panel = tried.get(code)
    place()
    return panel
  }
  const rows = codes.map(error => {
    const { code, status, text, trial } = error, { until, ...mistake } = trial?.example['x-try'] ?? {}
    const name = until === 403 ? untilBan : until ? `Send until ${until}` : `Try ${status}`
    const trialButton = button(name, () => open(error).provoke({ until, ...mistake }))
    trialButton.ariaLabel = `${name}: ${code}`
    return el('li', { id: code }, drawStatus(status), el('code', {}, code), trial ? trialButton : '', el('p', {}, ...inline(text)))
  })
  wide.onchange = place
  if (wide.matches) open(codes.find(({ trial }) => trial))
  return el('article', { id: 'errors', tabindex: '-1' }, el('div', { class: 'about' }, el('h2', {}, link('errors', title)),
    ...prose(schemas.Error.description)), aside, el('ul', { class: 'codes more' }, ...rows))
}

export function drawOverview() {
  const { title, version } = api.info, { url, variables } = api.servers[0], base = variables?.base_url?.default ?? url
  const chapters = drawChapters(), errors = drawErrors()
  document.title = title
  $('.brand').append(el('b', {}, title), el('small', {}, version))
  $('#overview').append(el('div', { class: 'about' }, el('h1', {}, title), el('p', { class: 'lead' }, introduction),
    el('p', { class: 'base' }, el('small', {}, 'Base URL'), el('code', {}, base), drawCopy(() => base)),
    el('p', {}, el('a', { href: '/openapi.json' }, 'OpenAPI description'))), drawFirst(), el('div', { class: 'more' }, ...chapters))
  $('#overview').after(errors)
  const links = [...chapters, errors].map(part => el('li', {}, link(part.id, $('h2', part).textContent)))
  return el('ul', { class: 'chapters' }, el('li', {}, link('overview', 'Overview')), ...links)
}
