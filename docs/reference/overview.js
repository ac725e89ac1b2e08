// Draws the overview: what the API is, a first request, and a chapter for each part of the description.
import { drawCopy } from './code.js'
import { api, codes, introduction, operations, proseOf, resolve } from './description.js'
import { $, all, button, capitalize, drawMethod, drawStatus, el, inline, link, printNumber, prose, react, setText,
  wide } from './draw.js'
import { limitsOf, newReading, reading, strikesToBan } from './limits.js'
import { newRequest, requests } from './log.js'
import { drawFields } from './operations.js'
import { Panel, panels } from './panel.js'
import { changes, choose, demoKeys, period, settings } from './settings.js'

const { headers, parameters, responses, schemas, securitySchemes } = api.components
const { Deprecation, NextLink, SuccessorLink, Sunset } = headers
const asFields = headers => Object.entries(headers).map(([name, header]) =>
  ({ name, ...resolve(header), required: false }))
const nameUntil = status => `Send until ${status}${{ 403: ' (bans this key)', 503: ' (needs -fail)' }[status] ?? ''}`
// drawPlans draws a table of the plans. A demo key is chosen with a press.
function drawPlans() {
  const drawRow = kind => cells => el('tr', {}, ...cells.map(cell => el(kind, {}, cell)))
  const head = ['Plan', `Per ${period}`, 'Per day', ...demoKeys.length ? ['Demo key'] : []]
  const rows = Object.entries(api.info['x-plans']).map(([plan, limits]) => {
    const demo = demoKeys.find(demo => demo.plan === plan), { perMinute, perDay } = { ...limits, ...demo }
    const cells = [perMinute, perDay].map(figure => figure ? printNumber(figure) : 'custom')
    return [capitalize(plan), ...cells, ...demo ? [button(demo.key, () => choose('key', demo.key), 'link demo')] : []]
  })
  const table = el('table', {}, el('thead', {}, drawRow('th')(head)), el('tbody', {}, ...rows.map(drawRow('td'))))
  const mark = demo => { demo.ariaPressed = demo.textContent === settings.key }
  react(() => all('.demo', table).forEach(mark), [changes, 'key'])
  return table
}
function drawChapter(title, ...content) {
  const id = title.toLowerCase().replace(' ', '-')
  return el('section', { id }, el('h2', {}, link(id, title)), ...prose(proseOf[title]), ...content)
}
const drawChapters = () => [
  drawChapter('Authentication', ...Object.values(securitySchemes).flatMap(({ description }) => prose(description))),
  drawChapter('Rate limits', drawPlans(), drawFields(asFields(responses.RateLimited.headers)),
    ...prose(responses.Unauthorized.description), ...prose(responses.KeyBanned.description)),
  drawChapter('Paging', drawFields([parameters.Limit, parameters.After, ...asFields({ Link: NextLink })]),
    drawPagingTrial('quiet')),
  drawChapter('Request bodies'),
  drawChapter('CORS'),
  drawChapter('Versions', drawFields(asFields({ Deprecation, Sunset, Link: SuccessorLink }))),
]
const name = 'Your first request', first = new Panel(operations[0], { name })
const drawPagingTrial = kind => button('Try two pets per page', () => first.tryOut({ parameters: { limit: 2 } }), kind)
// drawFirst draws the panel of a first request, and under it what it leads to, and the recent requests.
function drawFirst() {
  const many = button('', () => first.tryOut({ until: reading(settings.key)?.state === 'wait' ? 403 : 429 }))
  const cost = el('small'), run = el('li', {}, many, cost), list = el('ol')
  react(() => {
    const { state, left = limitsOf(settings.key).perMinute } = reading(settings.key) ?? {}
    run.hidden = ['banned', 'unauthorized'].includes(state)
    setText(many, nameUntil(state === 'wait' ? 403 : 429))
    setText(cost, state === 'wait' ? `${strikesToBan} strikes` : left >= 0 ? `at request ${printNumber(left + 1)}` : '')
  }, [newReading, 'change'], [changes, 'key'])
  react(() => list.replaceChildren(...requests.map(({ operationId, values, extras, times, entry }) => {
    const { method, target, status, sentAt, isStopped } = entry, row = button(drawMethod(method), () => {
      location.hash = operationId
      panels.get(operationId).setValues(values, extras).show(entry)
    }, 'link request')
    const time = el('small', {}, times > 1 ? `×${times} ` : '', sentAt), lost = isStopped ? 'stopped' : 'no response'
    row.append(el('code', {}, target), status ? drawStatus(status) : el('b', {}, lost), time)
    return el('li', {}, row)
  })), [newRequest, 'change'])
  return el('section', { id: 'first', class: 'aside' }, el('h2', { class: 'minor' }, name), first.form,
    el('ul', { class: 'actions' }, run, el('li', {}, drawPagingTrial(), el('small', {}, '/pets?limit=2')),
      el('li', {}, link('errors', 'See every error'), el('small', {}, `${codes.length} codes`))),
    el('section', { class: 'log' }, el('h2', { class: 'minor' }, 'Recent requests'), list,
      el('p', { class: 'hint' }, 'Your requests are listed here. Select one to see its response again.')),
    el('p', { class: 'hint' }, 'Ctrl+Enter sends the form you are in, or else the GET on screen.'))
}
// drawErrors draws the codes. The panel in which one is tried stands in its row or, on a wide page, beside the list.
function drawErrors() {
  let open
  const rows = codes.map(({ code, status, text, trial: { operation, example } = {} }) => {
    const row = el('div', { id: code }, drawStatus(status), el('code', {}, code)), item = el('li', {}, row)
    if (operation) {
      const mistake = example['x-try'], name = mistake.until ? nameUntil(mistake.until) : `Try ${status}`
      let panel
      const show = () => {
        panel ??= new Panel(operation, { name: code, status, example })
        open?.remove()
        item.append(open = panel.form)
      }
      row.append(button(name, () => { show(); panel.tryOut(mistake, status) }))
      row.lastChild.ariaLabel = `${name}: ${code}`
      if (wide.matches && !open) show()
    }
    row.append(el('p', {}, ...inline(text)))
    return item
  })
  const title = el('h2', {}, link('errors', 'Errors')), list = el('ul', { class: 'codes' }, ...rows)
  const about = el('div', { class: 'about' }, title, ...prose(schemas.Error.description),
    el('p', {}, 'Codes without a button cannot be tried here.'))
  return el('article', { id: 'errors', tabindex: '-1' }, about, list)
}

export function drawOverview() {
  const { title, version } = api.info, base = api.servers[0].url
  const chapters = drawChapters(), errors = drawErrors()
  document.title = title
  $('.brand').append(el('b', {}, title), el('small', {}, version))
  $('#overview').append(el('div', { class: 'about' }, el('h1', {}, title), el('p', { class: 'lead' }, introduction),
    el('p', { class: 'base' }, el('small', {}, 'Base URL'), el('code', {}, base), drawCopy(() => base)),
    el('p', {}, el('a', { href: '/openapi.json' }, 'OpenAPI description'))), drawFirst(),
  el('div', { class: 'more' }, ...chapters))
  $('#overview').after(errors)
  const links = [...chapters, errors].map(part => el('li', {}, link(part.id, $('h2', part).textContent)))
  return el('ul', { class: 'chapters' }, el('li', {}, link('overview', 'Overview')), ...links)
}
