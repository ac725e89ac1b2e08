// Draws the page and its try-outs. What comes from the server becomes text nodes, not HTML: a pet may be named <img>.
import demoKeys from '/docs/keys.json' with { type: 'json' }
import { call, checkServer, limitHeaders, makeRequest, newReading, reading, recall, remember, samples }
  from './client.js'
import { api, chapters, checkInput, contentOf, examplesOf, fieldsOf, introduction, mistakeIn, operationAt, operations,
  rangeOf, resolve, sharedStatuses, typeOf } from './description.js'

const $ = (selector, root = document) => root.querySelector(selector)
const all = (selector, root = document) => [...root.querySelectorAll(selector)]

function el(name, attributes = {}, ...children) {
  const element = document.createElement(name)
  for (const [attribute, value] of Object.entries(attributes)) element.setAttribute(attribute, value)
  element.append(...children)
  return element
}

const button = (text, onclick, kind = 'quiet') =>
  Object.assign(el('button', { type: 'button', class: kind }, text), { onclick })
const setText = (element, text) => { if (element.textContent !== text) element.textContent = text }

// --- What is chosen for the page: a key is kept for the session only ---
const settings = { key: demoKeys[0]?.key ?? '', keyHidden: false, language: 'curl', scheme: 'System' }
const storageOf = setting => setting.startsWith('key') ? 'sessionStorage' : 'localStorage'
for (const setting in settings) settings[setting] = recall(storageOf(setting), setting) ?? settings[setting]
const tryOuts = []

function choose(setting, value) {
  settings[setting] = value
  remember(storageOf(setting), setting, value)
  drawSettings()
}

function drawChoices(group, values, nameOf = value => value) {
  group.prepend(...values.map((value, i) =>
    Object.assign(button(nameOf(value, i), () => choose(group.dataset.setting, value)), { value })))
}

function drawSettings() {
  const { key, keyHidden, scheme } = settings, input = $('#key')
  if (input.value.trim() !== key) input.value = key
  input.type = keyHidden ? 'password' : 'text'
  setText($('#hide'), keyHidden ? 'Show' : 'Hide')
  document.documentElement.style.colorScheme = scheme === 'System' ? '' : scheme.toLowerCase()
  for (const group of all('[data-setting]'))
    for (const choice of all('[value]', group)) choice.ariaPressed = choice.value === settings[group.dataset.setting]
  for (const tryOut of tryOuts) tryOut.drawSample()
  drawMeter()
}

// --- Text, tables and examples ---
const capitalize = text => text[0].toUpperCase() + text.slice(1)
const inline = text => text.split(/`([^`]+)`/).map((part, i) => i % 2 ? el('code', {}, part) : part)

// prose draws the Markdown of the description: paragraphs, tables and `code`.
function prose(text = '') {
  return text.split('\n\n').filter(Boolean).map(block => {
    if (!block.startsWith('|')) return el('p', {}, ...inline(block))
    const [head, , ...rows] = block.split('\n').map(row => row.split('|').slice(1, -1).map(cell => cell.trim()))
    return table('plain', head, rows.map(cells => cells.map(inline)))
  })
}

const drawRow = cells => el('tr', {}, ...cells.map(content => el('td', {}, ...content)))
function table(kind, head, rows = []) {
  const top = el('tr', {}, ...head.map(name => el('th', { scope: 'col' }, ...inline(name))))
  return el('table', { class: kind }, el('thead', {}, top), el('tbody', {}, ...rows.map(drawRow)))
}

function fieldTable(fields) {
  const rows = fields.map(({ name, in: place, required, schema, description = '' }) => {
    const { default: value } = resolve(schema), preset = value !== undefined && `default ${value}`
    const notes = [rangeOf(schema), preset].filter(Boolean).map(note => el('small', {}, note))
    const kind = [place, required && 'required'].filter(Boolean).join(', ')
    return [[el('code', {}, name), el('small', {}, kind)], [typeOf(schema), ...notes], inline(description)]
  })
  return table('fields', ['Name', 'Type', 'Description'], rows)
}

// drawJSON lays a value out so that only a field's name is a string at the start of a line.
function drawJSON(value) {
  const parts = JSON.stringify(value, null, 2).split(/^( *"(?:[^"\\]|\\.)*")(?=: )/m)
  return el('pre', {}, ...parts.map((part, i) => i % 2 ? el('b', {}, part) : part))
}

// --- Operations, groups and navigation ---
const address = ({ method, path }) => [el('b', { class: `method ${method}` }, method), ' ', el('code', {}, path)]
const drawStatus = (status, text = status) => el('b', { class: status < 400 ? 'good' : 'bad' }, text)
const shownHeaders = ['Retry-After', ...limitHeaders, 'Location', 'Link', 'Deprecation', 'Sunset', 'WWW-Authenticate']
const phone = matchMedia('(max-width: 40rem)') // as in the style sheet

function badges({ deprecated, 'x-deprecated-sunset': sunset, 'x-stability': stability }, hasRoom) {
  const date = new Date(sunset).toLocaleDateString('en-GB', { dateStyle: 'long', timeZone: 'UTC' })
  const notice = hasRoom && sunset ? `Deprecated, removed after ${date}` : 'Deprecated'
  return [deprecated && el('span', { class: 'badge warn' }, notice),
    stability && el('span', { class: 'badge' }, capitalize(stability))].filter(Boolean)
}

// fold keeps what is long out of the way on a phone.
function fold(title, gist, ...content) {
  const summary = el('summary', {}, el('h5', {}, title), el('small', {}, gist))
  return Object.assign(el('details', { class: 'fold' }, summary, ...content), { open: !phone.matches })
}

function drawOperation(operation) {
  const { operationId, summary, description, inputs, body, responses } = operation
  const tryOut = new TryOut(operation)
  const about = el('div', { class: 'about' }, el('h4', {}, el('a', { href: `#${operationId}` }, summary)),
    el('p', { class: 'address' }, ...address(operation), ...badges(operation, true)), ...prose(description))
  const parameters = inputs.filter(input => input !== body), fields = body ? fieldsOf(body.schema) : []
  for (const [title, list] of Object.entries({ Parameters: parameters, Body: fields }))
    if (list.length) about.append(fold(title, list.map(({ name }) => name).join(', '), fieldTable(list)))
  const own = Object.keys(responses).filter(status => !sharedStatuses.includes(status))
  about.append(fold('Responses', own.join(', '), ...own.map(status => drawResponse(status, responses[status], tryOut))),
    el('p', { class: 'also' }, `Also ${sharedStatuses.join(', ')}: see `, el('a', { href: '#errors' }, 'Errors')))
  return el('article', { id: operationId }, about, tryOut.form)
}

function drawResponse(status, reference, tryOut) {
  const response = resolve(reference), { schema } = contentOf(response)
  const headers = Object.entries(response.headers ?? {}).filter(([name]) => !limitHeaders.includes(name))
    .map(([name, header]) => ({ name, in: 'header', ...resolve(header) }))
  const details = el('details', { class: status < 400 ? 'good' : 'bad' },
    el('summary', {}, el('b', {}, status), ' ', ...inline(response.description)))
  if (schema) details.append(el('p', {}, `Body: ${typeOf(schema)}`))
  if (schema && status < 400) details.append(fieldTable(fieldsOf(schema)))
  if (headers.length) details.append(fieldTable(headers))
  for (const { summary, description, value, 'x-try': mistake } of examplesOf(response)) {
    const figure = el('figure', {}, el('figcaption', {}, `Example: ${summary}`), ...prose(description), drawJSON(value))
    const trial = button(`Try this error: ${status}`, () => tryOut.provoke(mistake, details))
    if (mistake && tryOut.form.onsubmit) figure.append(trial)
    details.append(figure)
  }
  return details
}

function drawGroup(tag, level) {
  const title = tag['x-page-title'] ?? tag.name, id = `group-${tag.name}`
  const own = operations.filter(({ tags }) => tags.includes(tag.name))
  const groups = api.tags.filter(child => child['x-parent'] === tag.name).map(child => drawGroup(child, level + 1))
  const links = own.map(operation => el('li', {}, el('a', { href: `#${operation.operationId}` },
    el('span', {}, operation.summary), ...badges(operation), address(operation)[0])))
  return {
    section: el('section', { id }, el(`h${level}`, {}, title), ...prose(tag.description),
      ...own.map(drawOperation), ...groups.map(({ section }) => section)),
    entry: el('li', {}, el('a', { href: `#${id}`, class: 'group' }, title),
      el('ul', {}, ...links, ...groups.map(({ entry }) => entry))),
  }
}

function drawOverview() {
  const { title, version, license } = api.info, { url, variables } = api.servers[0]
  document.title = $('h1').textContent = title
  $('.brand').append(title, el('small', {}, version))
  $('.facts').append('Base URL: ', el('code', {}, variables?.base_url?.default ?? url), ' · Description: ',
    el('a', { href: '/openapi.json' }, 'openapi.json'), ' · License: ', el('a', { href: license.url }, license.name))
  $('#overview').append(...prose(introduction.text), ...chapters.map(({ title, id, text }) =>
    el('section', { id, class: 'chapter' }, el('h2', {}, title), ...prose(text))))
  $('#errors')?.append(el('p', {}, 'Every operation can return these:'),
    el('div', {}, ...sharedStatuses.map(status => drawResponse(status, operations[0].responses[status], tryOuts[0]))))
}

function drawPage() {
  const groups = api.tags.filter(tag => !tag['x-parent']).map(tag => drawGroup(tag, 2))
  drawOverview()
  $('nav ul').append(...[{ id: 'overview', title: 'Overview' }, ...chapters].map(({ id, title }) =>
    el('li', {}, el('a', { href: `#${id}` }, title))), ...groups.map(({ entry }) => entry))
  $('main').append(...groups.map(({ section }) => section))
  drawChoices($('[data-setting=scheme]'), ['System', 'Light', 'Dark'])
  drawChoices($('[data-setting=key]'), demoKeys.map(({ key }) => key), (_, i) => capitalize(demoKeys[i].plan))
  $('.log').append(table('requests', ['Method', 'Path', 'Status']))
  $('.missing').remove()
}

// --- The try-out of an operation ---
function drawControl({ in: place, required, schema, example = '' }) {
  if (place === 'body') return el('textarea', { rows: 6, spellcheck: 'false' }, '{}')
  const { enum: options, type, default: preset = '' } = resolve(schema)
  const control = el(options ? 'select' : 'input', { autocomplete: 'off' })
  for (const value of options ? ['', ...options] : []) control.append(el('option', { value }, value || 'not sent'))
  if (type === 'integer') control.inputMode = 'numeric'
  if (required) control.value = example
  else if (!options) control.placeholder = example || preset
  return control
}

function drawField(operationId, input) {
  const { name, schema, required } = input, id = `${operationId}-${name}`, control = drawControl(input)
  const hint = [!control.matches('select') && rangeOf(schema), required && 'required'].filter(Boolean).join(', ')
  Object.assign(control, { id, name }).setAttribute('aria-describedby', `${id}-hint ${id}-error`)
  return el('div', { class: 'field' }, el('label', { for: id }, name), el('small', { id: `${id}-hint` }, hint),
    control, el('p', { id: `${id}-error`, class: 'error' }))
}

class TryOut {
  running // sendOnce or sendUntil429, while requests are under way
  isEdited = false // by a person; what the page filled in is sent as it is

  constructor(operation) {
    this.operation = operation
    this.form = $('#try').content.firstElementChild.cloneNode(true)
    for (const part of ['inputs', 'extra', 'actions', 'send', 'many', 'count', 'anyway', 'outcome', 'response'])
      this[part] = $(`.${part}`, this.form)
    const sample = Object.assign($('.sample', this.form), { open: !phone.matches })
    this.form.ariaLabel = `Try it: ${operation.summary}`
    this.sample = $('pre', sample)
    drawChoices($('[data-setting]', sample), Object.keys(samples))
    $('.copy', sample).onclick = ({ target }) => copyText(this.code, this.sample, target)
    tryOuts.push(this)
    if (operation['x-hideTryItPanel'])
      return this.form.replaceChildren(el('p', {}, 'openapi.json turns the try-out off here.'), sample)
    this.inputs.append(...operation.inputs.map(input => drawField(operation.operationId, input)))
    if (operation.body) this.offerBodies(examplesOf(operation.body))
    if (operation.method !== 'GET') this.many.parentElement.remove()
    this.form.oninput = () => this.change(true)
    this.form.onsubmit = event => {
      event.preventDefault()
      if (!reading(settings.key).waiting) this.checkAndRun(this.sendOnce)
    }
    this.form.onkeydown = event => {
      if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && !event.repeat) this.form.requestSubmit()
    }
    this.many.onclick = () => this.running ? this.stop.abort() : this.checkAndRun(this.sendUntil429)
    this.anyway.onclick = () => this.run(this.sendOnce)
  }

  offerBodies(examples) {
    const json = examples.map(({ value }) => JSON.stringify(value, null, 2)), { body } = this.form.elements
    body.value = json[0] ?? '{}'
    body.before(el('div', { class: 'choices', role: 'group', 'aria-label': 'Examples' },
      ...examples.map(({ summary }, i) => button(summary, () => this.fill({ body: json[i] }, this.added)))))
  }

  // fill takes values for some fields, and what a mistake adds that no field can hold.
  fill(values, added) {
    for (const [name, value] of Object.entries(values)) this.form.elements[name].value = value
    this.added = added
    const { query, headers = {} } = added ?? {}, parts = Object.entries(headers).map(header => header.join(': '))
    this.extra.replaceChildren(...(query ? [`?${query}`, ...parts] : parts).map(part =>
      Object.assign(button(`+ ${part} ×`, () => this.fill({})), { ariaLabel: `Remove ${part}` })))
    this.change(false)
    return this
  }

  change(isEdited) {
    const { body } = this.form.elements, size = new Blob([body?.value]).size
    this.isEdited = isEdited
    this.drawSample()
    this.mark(() => '') // until the next check
    this.update()
    if (body) setText($(`#${body.id}-hint`), size < 2000 ? 'required' : `${size.toLocaleString('en')} bytes`)
  }

  values = () => Object.fromEntries(new FormData(this.form))
  requestFor = key => makeRequest(this.operation, this.values(), key, this.added)

  drawSample() {
    const { key, keyHidden, language } = settings, sample = samples[language] ?? samples.curl
    this.code = sample(this.requestFor(key))
    const shown = keyHidden ? sample(this.requestFor('•'.repeat(key.length))) : this.code
    setText(this.sample, shown.length < 5000 ? shown : `${shown.slice(0, 500)} …\n\nCopy has all of it.`)
  }

  // mark writes what is wrong below each field, and returns the first such field.
  mark(errorOf) {
    for (const input of this.operation.inputs) {
      const control = this.form.elements[input.name], error = errorOf(input, control.value) ?? ''
      control.ariaInvalid = error !== ''
      setText($(`#${control.id}-error`), error)
    }
    return $('[aria-invalid=true]', this.form)
  }

  checkAndRun(send) {
    const wrong = this.isEdited && this.mark(checkInput)
    if (!wrong) return this.run(send)
    this.refuse('a field is not valid. Send anyway shows what the server says.')
    wrong.focus()
  }

  refuse(reason) {
    this.outcome.replaceChildren(`Not sent: ${reason}`)
    this.response.replaceChildren()
    this.update()
    this.outcome.scrollIntoView({ block: 'nearest' })
  }

  provoke({ until429, ...mistake }, origin) {
    if (!this.form.parentElement.contains(origin)) location.hash = this.operation.operationId
    this.fill(mistakeIn(this.operation, mistake), mistake).run(until429 ? this.sendUntil429 : this.sendOnce)
  }

  // run shows that requests are under way, and then the last response.
  async run(send) {
    if (this.running) return
    if (/[^!-~]/.test(settings.key)) return this.refuse('a key has ASCII characters alone, and no spaces.')
    Object.assign(this, { running: send, stop: new AbortController(), isEdited: false })
    this.mark(checkInput)
    this.update()
    const entry = await this.running(this.stop.signal)
    this.running = undefined
    this.show(entry)
  }

  async sendOnce() {
    const values = this.values(), { added } = this, entry = await call(this.requestFor(settings.key))
    logRequest(entry, () => {
      this.form.parentElement.scrollIntoView()
      this.fill(values, added).show(entry)
    })
    return entry
  }

  async sendUntil429(signal) {
    const { key } = settings
    for (let count = 1; ; count++) {
      const entry = await this.sendOnce()
      setText(this.count, `${count} sent`)
      const isOver = !entry.status || [401, 403, 429].includes(entry.status)
      if (isOver || signal.aborted || key !== settings.key) return { ...entry, count }
      const { left, until } = reading(key), ms = until - 1000 - Date.now() // or more: the server rounds an end up
      if (ms / left > 36) await new Promise(resolve => setTimeout(resolve, Math.min(40, ms / left / 4))) // to see it
    }
  }

  // show draws a response, new or from the log. A focused button that it replaces passes the focus on.
  show({ method, path, failure, status, statusText, took, headers, body, count }) {
    const refocus = this.response.contains(document.activeElement), number = count ? `, request\xa0${count}` : ''
    const [head, rest] = failure ? ['No response', `: ${failure}`]
      : [`${status} ${statusText}`, ` in\xa0${took}\xa0ms${number}`]
    this.outcome.replaceChildren(el('code', {}, `${method} ${path}`), ' ', drawStatus(status, head), rest)
    this.response.replaceChildren(...(failure ? [] : this.drawResponse(headers, body)))
    this.update()
    if (refocus) ($('.next:enabled', this.form) ?? $('.send:enabled, .anyway', this.form)).focus()
    for (const part of [this.inputs, this.outcome]) part.scrollIntoView({ block: 'nearest' })
  }

  drawResponse(headers, body) {
    const names = shownHeaders.filter(name => headers.has(name)), place = headers.get('Location')
    const rows = names.map(name => [[el('code', {}, name)], [headers.get(name)]])
    const page = headers.get('Link')?.match(/<[^<>?]*([^<>]*)>; *rel="next"/)?.[1]
    const turn = () => this.fill(Object.fromEntries(new URLSearchParams(page))).run(this.sendOnce)
    const fold = el('details', {}, el('summary', {}, 'Headers'), table('headers', ['Header', 'Value'], rows))
    return [
      body === '' ? el('p', {}, 'The response has no body.') : drawJSON(body),
      page ? button('Next page', turn, 'next quiet') : '',
      place ? el('p', { class: 'next' }, 'Location: ', locationLink(place)) : '',
      Object.assign(fold, { open: headers.has('Retry-After') }),
    ]
  }

  // update shows what can be pressed now. A focused button that no longer can be passes the focus on.
  update() {
    const { waiting, state, left } = reading(settings.key), focused = document.activeElement
    const ahead = state === 'new' ? demoKeys.find(({ key }) => key === settings.key)?.perMinute : left
    const { running } = this, stoppable = running === this.sendUntil429, busy = Boolean(running)
    this.form.ariaBusy = busy
    setText(this.send, busy && !stoppable ? 'Sending …' : 'Send')
    for (const button of all('.send, button.next', this.form)) button.disabled = waiting
    setText(this.many, stoppable ? 'Stop' : 'Send until 429')
    this.many.disabled = waiting && !stoppable
    this.anyway.hidden = !waiting && !(this.isEdited && $('[aria-invalid=true]', this.form))
    const count = ahead && this.anyway.hidden ? `${(ahead + 1).toLocaleString('en')} requests` : ''
    if (!stoppable) setText(this.count, count)
    if (this.actions.contains(focused) && focused.matches(':disabled, [hidden]'))
      $('button:enabled:not([hidden])', this.actions).focus()
  }
}

// copyText works without a clipboard, too: over plain HTTP, except on localhost, a page has none.
function copyText(text, source, button) {
  getSelection().selectAllChildren(source)
  addEventListener('copy', event => {
    event.clipboardData.setData('text/plain', text)
    event.preventDefault()
  }, { once: true })
  button.textContent = document.execCommand('copy') ? 'Copied' : 'Not copied'
  setTimeout(() => { button.textContent = 'Copy' }, 2000)
}

function locationLink(path) {
  const { operation, values } = operationAt(path), link = el('a', { href: `#${operation.operationId}` }, path)
  link.onclick = () => { for (const other of tryOuts) if (other.operation.path === operation.path) other.fill(values) }
  return link
}

function logRequest({ method, path, status = 'none' }, restore) {
  const rows = $('.log tbody'), kind = el('b', { class: `method ${method}` }, method)
  rows.prepend(drawRow([[kind], [button(path, restore, 'link')], [drawStatus(status)]]))
  rows.children[50]?.remove()
}

// --- The meter ---
let ticking, announced = false // or the wait that was announced

function duration(seconds) {
  const hours = Math.floor(seconds / 3600), minutes = Math.floor(seconds / 60) % 60
  if (hours) return `${hours}\xa0h ${minutes}\xa0min`
  return seconds < 100 ? `${seconds}\xa0s` : `${minutes}\xa0min ${seconds % 60}\xa0s`
}

function drawMeter() {
  const { state, waiting, limit, left, since, until } = reading(settings.key), wait = waiting && state
  const meter = $('.meter'), bar = $('[role=meter]', meter), count = `${left} of ${limit} left`
  const remaining = until - Date.now(), wholeSeconds = waiting ? Math.ceil : Math.floor // the server rounds an end up
  const time = duration(Math.max(1, wholeSeconds(remaining / 1000)))
  const [head, rest] = {
    new: ['Limit not known', 'the next response shows it'],
    over: ['Window over', 'the next request starts a new one'],
    wait: [`Wait ${time}`, `limit reached: ${count}`],
    banned: [`Wait ${time}`, 'banned: too many requests over the limit'],
  }[state] ?? [count, `new window in ${time}`]
  setText($('strong', meter), head)
  setText($('span', meter), rest)
  bar.style.setProperty('--level', waiting ? 1 - remaining / (until - since) : left / limit)
  Object.assign(bar, { ariaValueMax: limit, ariaValueNow: left, ariaValueText: count })
  meter.dataset.state = state
  if (wait !== announced) $('[role=status]', meter).textContent = waiting ? `${head}, ${rest}` : 'You can send again'
  announced = wait
  for (const tryOut of tryOuts) tryOut.update()
  clearTimeout(ticking)
  const step = waiting || remaining < 3_600_000 ? 1000 : 60_000 // until there is news; without a window nothing runs
  if (remaining > 0) ticking = setTimeout(drawMeter, remaining % step || step)
  if (waiting) checkServer()
}

drawPage()
drawSettings()
newReading.addEventListener('change', drawMeter)
$('#key').oninput = ({ target }) => choose('key', target.value.trim())
$('#hide').onclick = () => choose('keyHidden', !settings.keyHidden)
$('.log').open = recall('localStorage', 'log')
$('.log').ontoggle = ({ target }) => remember('localStorage', 'log', target.open)
$('nav').onclick = ({ target }) => { if (target.closest('a')) $('#menu').togglePopover(false) }

// The navigation and the address follow what begins in the upper fifth of the screen: what was chosen, or the last.
const sections = all('main section, article')
function markPlace() {
  const top = section => section.getBoundingClientRect().top, line = innerHeight / 5
  const chosen = sections.find(section => section.matches(':target') && top(section) >= 0 && top(section) <= line)
  const seen = chosen ?? sections.findLast(section => top(section) <= line) ?? sections[0]
  const menu = $('#menu'), link = $(`[href="#${seen.id}"]`, menu)
  if (link.ariaCurrent) return
  $('[aria-current]', menu)?.removeAttribute('aria-current')
  link.ariaCurrent = 'true'
  menu.scrollTop = link.offsetTop - menu.clientHeight / 2
  history.replaceState(null, '', seen === sections[0] ? '/' : link.hash)
}
addEventListener('hashchange', markPlace)
const observer = new IntersectionObserver(markPlace, { rootMargin: '-15% 0px -80%' })
// Until all is loaded, the address says where to go.
addEventListener('load', () => { for (const section of sections) observer.observe(section) })
