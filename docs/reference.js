// Draws the reference from the description alone, and calls the API at the page's own origin.
// What comes from the server or the description becomes text nodes, never HTML: a pet may be named <img>.
import api from '/openapi.json' with { type: 'json' }
import demoKeys from '/docs/keys.json' with { type: 'json' }

const $ = (selector, root = document) => root.querySelector(selector)
const all = (selector, root = document) => [...root.querySelectorAll(selector)]
const clone = id => $(`#${id}`).content.firstElementChild.cloneNode(true)

// el makes an element; strings among its children become text.
function el(name, attributes = {}, ...children) {
  const element = document.createElement(name)
  for (const [attribute, value] of Object.entries(attributes)) element.setAttribute(attribute, value)
  element.append(...children)
  return element
}

// --- The description ---
// resolve follows $ref and merges allOf, so that the rest of the script sees plain schemas.
function resolve(node) {
  if (node.$ref) return resolve(node.$ref.slice(2).split('/').reduce((at, name) => at[name], api))
  if (!node.allOf) return node
  const parts = [...node.allOf.map(resolve), { ...node, allOf: undefined }]
  return Object.assign({}, ...parts, {
    required: parts.flatMap(part => part.required ?? []),
    properties: Object.assign({}, ...parts.map(part => part.properties)),
  })
}

const operations = Object.entries(api.paths).flatMap(([path, item]) => Object.entries(item)
  .filter(([, operation]) => operation.operationId)
  .map(([method, operation]) => ({
    ...operation, path, method: method.toUpperCase(), parameters: (operation.parameters ?? []).map(resolve),
  })))

// fieldsOf lists the fields of an object, or of the objects in an array.
function fieldsOf(schema) {
  const { items, properties = {}, required = [] } = resolve(schema)
  if (items) return fieldsOf(items)
  return Object.entries(properties).map(([name, schema]) => ({
    name, schema, required: required.includes(name), description: resolve(schema).description,
  }))
}

const contentOf = message => Object.values(message.content ?? {})[0]
const examplesOf = message => Object.values(contentOf(message)?.examples ?? {}).map(resolve)

function typeOf(schema) {
  const { type, format, items } = resolve(schema)
  if (items) return `array of ${items.$ref?.split('/').pop() ?? typeOf(items)}`
  return format ? `${type} (${format})` : type
}

function between(low, high, thing) {
  const unit = thing ? ` ${thing}${(high ?? low) === 1 ? '' : 's'}` : ''
  if (low === undefined) return high !== undefined && `at most ${high}${unit}`
  return high === undefined ? `at least ${low}${unit}` : `${low} to ${high}${unit}`
}

// rangeOf says in words which values a schema allows.
function rangeOf(schema) {
  const { enum: values, minimum, maximum, minLength, maxLength, maxItems, pattern } = resolve(schema)
  return [
    values && (values.length > 1 ? `one of ${values.join(', ')}` : `always ${values}`), between(minimum, maximum),
    between(minLength, maxLength, 'character'), between(undefined, maxItems, 'item'), pattern && `matching ${pattern}`,
  ].filter(Boolean).join(', ')
}

// --- Text, tables and examples ---
const inline = text => text.split(/`([^`]+)`/).map((part, i) => i % 2 ? el('code', {}, part) : part)

// prose draws the Markdown of the description: paragraphs, ## headings, tables and `code`.
function prose(text = '') {
  return text.split('\n\n').map(block => {
    if (block.startsWith('## ')) return el('h2', {}, block.slice(3))
    if (!block.startsWith('|')) return el('p', {}, ...inline(block))
    const [head, , ...rows] = block.split('\n').map(row => row.split('|').slice(1, -1).map(cell => inline(cell.trim())))
    return table('plain', head, rows)
  })
}

function table(kind, head, rows) {
  const draw = (cell, cells) => el('tr', {}, ...cells.map(content => el(cell, cell === 'th' ? { scope: 'col' } : {}, ...content)))
  return el('table', { class: kind }, el('thead', {}, draw('th', head)), el('tbody', {}, ...rows.map(row => draw('td', row))))
}

// fieldTable lists parameters, fields or headers.
function fieldTable(fields) {
  return table('fields', [['Name'], ['Type'], ['Meaning']], fields.map(({ name, in: place, required, schema, description = '' }) => {
    const { default: preset } = resolve(schema)
    const notes = [rangeOf(schema), preset !== undefined && `default ${preset}`].filter(Boolean)
    return [
      [el('code', {}, name), el('small', {}, [place, required && 'required'].filter(Boolean).join(', '))],
      [typeOf(schema), ...notes.map(note => el('small', {}, note))],
      inline(description),
    ]
  }))
}

// code shows a value as JSON, laid out so that only a field's name is a string at the start of a line.
function code(value) {
  const parts = JSON.stringify(value, null, 2).split(/^( *"(?:[^"\\]|\\.)*")(?=: )/m)
  return el('pre', {}, ...parts.map((part, i) => i % 2 ? el('b', {}, part) : part))
}

const drawExamples = message => examplesOf(message).map(({ summary, value }) =>
  el('figure', {}, el('figcaption', {}, `Example: ${summary}`), code(value)))

// --- Operations, groups and navigation ---
const address = ({ method, path }) => [el('b', { class: `method ${method}` }, method), ' ', el('code', {}, path)]

function badges({ deprecated, 'x-deprecated-sunset': sunset, 'x-stability': stability }) {
  const until = sunset ? ` until ${new Date(sunset).toLocaleDateString('en-GB', { dateStyle: 'long', timeZone: 'UTC' })}` : ''
  return [
    deprecated && el('span', { class: 'badge warn' }, `Deprecated${until}`),
    stability && el('span', { class: 'badge' }, stability[0].toUpperCase() + stability.slice(1)),
  ].filter(Boolean)
}

const noTryOut = 'There is no try-out here: the description switches it off. The operation itself works as described.'

function drawOperation(operation) {
  const { operationId, summary, description, parameters, requestBody, responses } = operation
  const article = clone('operation'), about = $('.about', article)
  article.id = operationId
  Object.assign($('h4 a', article), { href: `#${operationId}`, textContent: summary })
  $('.address', article).append(...address(operation), ...badges(operation))
  about.append(...prose(description))
  if (parameters.length) about.append(el('h5', {}, 'Parameters'), fieldTable(parameters))
  if (requestBody) {
    const { schema } = contentOf(requestBody)
    about.append(el('h5', {}, 'Body'), ...prose(resolve(schema).description), fieldTable(fieldsOf(schema)),
      ...drawExamples(requestBody))
  }
  about.append(el('h5', {}, 'Answers and errors'), ...Object.entries(responses).map(drawAnswer))
  article.append(operation['x-hideTryItPanel'] ? el('p', { class: 'try none' }, noTryOut) : tryOut(operation))
  return article
}

function drawAnswer([status, reference]) {
  const response = resolve(reference)
  const details = el('details', { class: status < 400 ? 'good' : 'bad' },
    el('summary', {}, el('b', {}, status), ' ', ...inline(response.description)))
  const headers = Object.entries(response.headers ?? {}).map(([name, header]) => ({ name, ...resolve(header) }))
  if (response.content) {
    const { schema } = contentOf(response)
    details.append(el('p', {}, `Body: ${typeOf(schema)}. `, ...inline(resolve(schema).description ?? '')),
      fieldTable(fieldsOf(schema)), ...drawExamples(response))
  }
  if (headers.length) details.append(el('p', {}, 'Headers'), fieldTable(headers))
  return details
}

// drawGroup returns the group's section of the page, and its entry in the navigation.
function drawGroup(tag, level) {
  const title = tag['x-page-title'] ?? tag.name, id = `group-${tag.name}`
  const own = operations.filter(({ tags }) => tags.includes(tag.name))
  const groups = api.tags.filter(child => child['x-parent'] === tag.name).map(child => drawGroup(child, level + 1))
  const links = own.map(operation => el('li', {}, el('a', { href: `#${operation.operationId}` },
    operation.summary, el('small', {}, ...address(operation)), ...badges(operation))))
  return {
    section: el('section', { id }, el(`h${level}`, {}, title), ...prose(tag.description),
      ...own.map(drawOperation), ...groups.map(({ section }) => section)),
    entry: el('li', {}, el('a', { href: `#${id}`, class: 'group' }, title),
      el('ul', {}, ...links, ...groups.map(({ entry }) => entry))),
  }
}

function drawPage() {
  document.title = $('h1').textContent = api.info.title
  $('.brand').append(api.info.title, el('small', {}, api.info.version))
  $('.chapters').append(...api.info.description.split(/\n\n(?=## )/).map(chapter => el('section', {}, ...prose(chapter))))
  const groups = api.tags.filter(tag => !tag['x-parent']).map(tag => drawGroup(tag, 2))
  $('nav details').append(el('ul', {}, ...groups.map(({ entry }) => entry)))
  $('main').append(...groups.map(({ section }) => section))
  $('.choices').append(...demoKeys.map(({ key, plan }) => el('button', { class: 'quiet', value: key }, plan)))
}

// --- The form ---
function tryOut(operation) {
  const form = clone('try'), copy = $('.curl button', form), line = $('.curl pre', form)
  form.ariaLabel = `Try it: ${operation.summary}`
  $('.inputs', form).append(...operation.parameters.map(parameter => drawField(operation, parameter, control(parameter))))
  if (operation.requestBody) $('.inputs', form).append(bodyField(operation))
  copy.onclick = () => copyText(line, copy)
  form.oninput = () => { line.textContent = curl(request(operation, form)) }
  form.onsubmit = event => {
    event.preventDefault()
    if (!paused() && !form.matches('.busy') && valid(operation, form)) send(operation, form)
  }
  return form
}

function control({ required, schema, example = '' }) {
  const { enum: values, type } = resolve(schema), options = values ?? (type === 'boolean' && ['true', 'false'])
  const input = el(options ? 'select' : 'input', { autocomplete: 'off' })
  if (options) input.append(...(required ? options : ['', ...options]).map(value => el('option', { value }, value || 'not sent')))
  input.value = example
  return input
}

function bodyField(operation) {
  const { content, required } = operation.requestBody, text = el('textarea', { rows: 6, spellcheck: 'false' })
  text.value = JSON.stringify(examplesOf(operation.requestBody)[0]?.value ?? {}, null, 2)
  return drawField(operation, { name: 'body', required, schema: contentOf({ content }).schema }, text)
}

function drawField({ operationId }, { name, schema, required }, input) {
  const id = `${operationId}-${name}`, hint = rangeOf(schema) || typeOf(schema)
  Object.assign(input, { id, name })
  input.setAttribute('aria-describedby', `${id}-hint ${id}-fault`)
  return el('div', { class: 'field' }, el('label', { for: id }, name),
    el('small', { id: `${id}-hint` }, required ? `${hint}, required` : hint), input, el('p', { id: `${id}-fault`, class: 'fault' }))
}

// request is what the form asks for, as fetch and curl both take it.
function request({ path, method, parameters, requestBody }, form) {
  const query = new URLSearchParams(), headers = authorization()
  for (const { name, in: place } of parameters) {
    const { value } = form.elements[name]
    if (place === 'path') path = path.replace(`{${name}}`, encodeURIComponent(value))
    else if (value) query.append(name, value)
  }
  if (requestBody) headers['Content-Type'] = Object.keys(requestBody.content)[0]
  return { url: location.origin + path + (query.size ? `?${query}` : ''), method, headers, body: form.elements.body?.value }
}

// authorization sends the key as the first security scheme of the description says.
function authorization() {
  const { type, name } = api.components.securitySchemes[Object.keys(api.security[0])[0]]
  if (!key.value) return {}
  return type === 'apiKey' ? { [name]: key.value } : { Authorization: `Bearer ${key.value}` }
}

function curl({ url, method, headers, body }) {
  const quote = text => `'${text.replaceAll("'", `'\\''`)}'` // a shell cannot escape within single quotes
  return [
    `curl -i -X ${method}`, quote(url), ...Object.entries(headers).map(([name, value]) => `-H ${quote(`${name}: ${value}`)}`),
    ...(body === undefined ? [] : [`--data-raw ${quote(body)}`]),
  ].join(' \\\n  ')
}

// copyText also selects the text: over plain HTTP, but for localhost, a page has no clipboard.
async function copyText(source, button) {
  getSelection().selectAllChildren(source)
  const done = await navigator.clipboard?.writeText(source.textContent).then(() => true, () => false)
  button.textContent = done ? 'Copied' : 'Selected'
  setTimeout(() => { button.textContent = 'Copy' }, 2000)
}

// --- Checking, as far as the description goes ---
const dateTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/i

// parseNumber keeps integers exact, and tells them from fractions: 2 is one, 2.0 is none.
const parseNumber = source => /^-?\d+$/.test(source) ? BigInt(source) : Number(source)

function kindOf(value) {
  if (typeof value === 'bigint') return 'integer'
  return value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value
}

// faultOf says what is wrong with a value, or nothing.
function faultOf(name, value, schema) {
  const s = resolve(schema), kind = kindOf(value), size = kind === 'string' ? [...value].length : value?.length
  if (s.type && kind !== s.type && !(kind === 'integer' && s.type === 'number')) return `${name} must be of the type ${typeOf(s)}.`
  if (s.format === 'int64' && BigInt.asIntN(64, value) !== value) return `${name} must be an integer of 64 bits.`
  if (s.format === 'date-time' && (!dateTime.test(value) || isNaN(Date.parse(value))))
    return `${name} must be a date-time such as ${s.example}.`
  if (value < s.minimum || value > s.maximum || size < s.minLength || size > s.maxLength || size > s.maxItems
    || s.enum?.every(option => option != value) || (s.pattern && !RegExp(s.pattern, 'u').test(value)))
    return `${name} must be ${rangeOf(s)}.`
  if (kind === 'array') return value.map((item, i) => faultOf(`${name} ${i + 1}`, item, s.items)).find(Boolean)
  if (kind !== 'object') return
  const missing = s.required?.find(field => !Object.hasOwn(value, field))
  if (missing) return `${missing} is missing.`
  const given = fieldsOf(s).filter(field => Object.hasOwn(value, field.name))
  return given.map(field => faultOf(field.name, value[field.name], field.schema)).find(Boolean)
}

function faultOfParameter({ name, required, schema }, text) {
  if (!text) return required && `${name} is required.`
  const { type } = resolve(schema)
  return faultOf(name, /integer|number/.test(type) ? parseNumber(text) : type === 'boolean' ? text === 'true' : text, schema)
}

function faultOfBody(requestBody, text) {
  try {
    const body = JSON.parse(text, (_, value, { source }) => typeof value === 'number' ? parseNumber(source) : value)
    return faultOf('body', body, contentOf(requestBody).schema)
  } catch (error) {
    return `The body is no JSON: ${error.message}.`
  }
}

// valid writes each fault below its field, and leads to the first one.
function valid({ parameters, requestBody }, { elements }) {
  const faults = parameters.map(parameter => [elements[parameter.name], faultOfParameter(parameter, elements[parameter.name].value)])
  if (requestBody) faults.push([elements.body, faultOfBody(requestBody, elements.body.value)])
  for (const [input, fault] of faults) {
    input.ariaInvalid = Boolean(fault)
    $(`#${input.id}-fault`).textContent = fault || ''
  }
  const [first] = faults.find(([, fault]) => fault) ?? []
  first?.focus()
  return !first
}

// --- Sending, and the answer ---
const shownHeaders = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset', 'Retry-After', 'Location', 'Link',
  'Allow', 'Deprecation', 'Sunset', 'WWW-Authenticate']
let lastForm

async function send(operation, form) {
  const { url, ...options } = request(operation, form), usedKey = key.value, begin = performance.now()
  const outcome = $('[role=status]', form), answer = $('.answer', form), refocus = answer.contains(document.activeElement)
  lastForm = form
  form.classList.add('busy')
  try {
    const response = await fetch(url, { ...options, cache: 'no-store', credentials: 'omit', signal: AbortSignal.timeout(30_000) })
    const text = await response.text(), took = Math.max(1, Math.round(performance.now() - begin))
    const body = response.headers.get('Content-Type') === 'application/json' ? JSON.parse(text) : text
    outcome.replaceChildren(el('b', { class: response.ok ? 'good' : 'bad' }, `${response.status} ${response.statusText}`), ` in ${took} ms`)
    answer.replaceChildren(...drawReply(form, response.headers, body))
    measure(usedKey, response, body)
  } catch (error) {
    outcome.replaceChildren(el('b', { class: 'bad' }, 'No answer'), ` (${error.message})`)
    answer.replaceChildren()
  }
  form.classList.remove('busy')
  if (refocus) $('.next, .send', form).focus()
}

function drawReply(form, headers, body) {
  const rows = shownHeaders.filter(name => headers.has(name)).map(name => [[el('code', {}, name)], [headers.get(name)]])
  const shown = body === '' ? el('p', {}, 'The answer has no body.') : code(body)
  if (body !== '') shown.tabIndex = 0 // a long body scrolls in its box, and the keyboard must reach it
  const next = headers.get('Link')?.match(/<([^<>]*)>; *rel="next"/)?.[1]
  return [table('headers', [['Header'], ['Value']], rows), ...(next ? [nextButton(form, new URL(next, location))] : []), shown]
}

function nextButton(form, { searchParams }) {
  const button = el('button', { type: 'button', class: 'next quiet' }, 'Next page')
  button.onclick = () => {
    for (const input of all('[name]', form)) input.value = searchParams.get(input.name) ?? ''
    form.oninput()
    form.requestSubmit()
  }
  return button
}

// --- The key, and its meter ---
const key = $('#key'), meter = $('.meter')

function useKey(value) {
  key.value = value
  sessionStorage.setItem('key', value)
  for (const choice of all('.choices button')) choice.ariaPressed = choice.value === value
  for (const form of all('form')) form.oninput()
  showMeter()
}

// measure keeps what the last answer to a key said, for the session: so a wait goes on after a reload.
function measure(usedKey, { status, headers }, { code }) {
  const [limit, left, reset, wait] = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset', 'Retry-After']
    .map(name => Number(headers.get(name)))
  const state = code === 'key_banned' ? 'banned' : status === 429 ? 'wait' : left > limit / 5 ? 'open' : 'low'
  const skew = Date.now() - Date.parse(headers.get('Date')) // of the two clocks; the header is cut to whole seconds
  const pausing = state === 'wait' || state === 'banned'
  const until = pausing ? Date.now() + wait * 1000 : reset * 1000 + (Math.abs(skew) > 2000 ? skew : 0)
  sessionStorage.setItem(`meter ${usedKey}`, JSON.stringify({ limit, left, state, until }))
  showMeter()
}

function reading() {
  const last = JSON.parse(sessionStorage.getItem(`meter ${key.value}`)) ?? { limit: 1, left: 1, state: 'new' }
  return last.until < Date.now() ? { ...last, left: last.limit, state: 'over' } : last
}

const paused = () => ['wait', 'banned'].includes(reading().state)

function duration(seconds) {
  if (seconds < 100) return `${seconds}\xa0s`
  const hours = Math.floor(seconds / 3600), minutes = Math.floor(seconds / 60) % 60
  return hours ? `${hours}\xa0h ${minutes}\xa0min` : `${minutes}\xa0min ${seconds % 60}\xa0s`
}

function showMeter() {
  const { limit, left, until, state } = reading(), bar = $('[role=meter]', meter)
  const count = `${left} of ${limit} left`, time = duration(Math.ceil((until - Date.now()) / 1000))
  const [head, rest] = {
    new: ['No request yet', 'Send shows the limit'],
    over: ['Window over', 'the next request begins a new one'],
    wait: [count, `limit reached: wait ${time}`],
    banned: ['Key banned', `it asked on over its limit: wait ${time}`],
  }[state] ?? [count, `new window in ${time}`]
  $('strong', meter).textContent = head
  $('span', meter).textContent = rest
  bar.style.setProperty('--left', left / limit)
  Object.assign(bar, { ariaValueMax: limit, ariaValueNow: left, ariaValueText: head })
  meter.dataset.state = state
  pause(paused(), time, `${head}, ${rest}`)
}

// pause disables what sends, or enables it again. A button that is disabled loses the focus, and gets it back here.
function pause(pausing, time, reason) {
  const before = $('.send')?.disabled
  for (const button of all('.send, .next')) button.disabled = pausing
  for (const button of all('.send')) button.textContent = pausing ? `Wait ${time}` : 'Send'
  if (pausing === before) return
  $('[role=status]', meter).textContent = pausing ? reason : 'Send is back'
  if (lastForm && document.activeElement === document.body) $('.send', lastForm).focus({ preventScroll: true })
}

// --- The page ---
// follow marks in the navigation what is on the screen.
function follow(entries) {
  const seen = entries.find(entry => entry.isIntersecting), nav = $('nav')
  if (!seen) return
  const link = $(`[href="#${seen.target.id}"]`, nav)
  $('[aria-current]', nav)?.removeAttribute('aria-current')
  link.ariaCurrent = 'true'
  nav.scrollTop = link.offsetTop - nav.clientHeight / 2
}

drawPage()
useKey(sessionStorage.getItem('key') ?? demoKeys[0]?.key ?? '')
key.oninput = () => useKey(key.value.trim())
$('.choices').onclick = ({ target }) => target.value && useKey(target.value)
setInterval(showMeter, 250)
const wide = matchMedia('(min-width: 68rem)') // as in the style sheet, where the summary is then hidden
wide.onchange = () => { $('nav details').open = wide.matches }
wide.onchange()
const observer = new IntersectionObserver(follow, { rootMargin: '-30% 0px -65%' })
for (const article of all('article')) observer.observe(article)
