// The panel of an operation: a form that sends what it shows, the response, and the request as code.
import { call, makeRequest, repeat } from './client.js'
import { drawSample } from './code.js'
import { examplesOf, mistakeIn, rangeOf, resolve } from './description.js'
import { $, all, button, el, setText } from './draw.js'
import { newReading, planOf, reading, strikesToBan } from './limits.js'
import { logRequest } from './log.js'
import { drawAnswer, drawExamples, drawOutcome } from './response.js'
import { changes, settings } from './settings.js'

export const untilBan = 'Send until 403 (bans this key)'
const print = value => JSON.stringify(value, null, 2)
const panels = [] // also those that errors are tried in
export class Panel {
  state = 'idle' // or "sending" once, or "repeating"
  stop = new AbortController()
  form = el('form', { novalidate: '' })
  values = () => Object.fromEntries(new FormData(this.form))
  requestWith = key => makeRequest(this.operation, this.values(), key, this.added)

  constructor(operation, name = 'Try it') {
    const { summary, inputs, body } = operation, bodies = body ? examplesOf(body) : []
    const number = panels.push(this), canSend = !operation['x-hideTryItPanel']
    const examples = drawExamples(operation), sample = drawSample(this.requestWith)
    Object.assign(this, { operation, canSend, chooseExample: examples.choose, drawSample: sample.draw })
    this.form.append($('#panel').content.cloneNode(true))
    for (const part of all('[class]', this.form)) this[part.className.split(' ')[0]] = part
    this.form.ariaLabel = `${name}: ${summary}`
    this.form.oninput = () => this.fill({}, this.added)
    this.form.onsubmit = event => this.run(event.preventDefault())
    this.many.onclick = () => this.state === 'repeating' ? this.stop.abort() : this.fill({}).run(+this.many.value)
    this.example.append(...examples.parts)
    this.sample.append(...sample.parts)
    this.inputs.append(...canSend ? inputs.map(input => drawField(`field-${number}-${input.name}`, input))
      : [el('p', {}, 'It cannot be sent from here: run the code instead.')])
    for (const part of [this.send, $('kbd', this.form)]) part.hidden = !canSend
    const choices = bodies.map(({ summary, value }) =>
      button(summary, () => this.fill({ body: print(value) }, this.added)))
    if (body) this.form.elements.body.before(el('div', { class: 'bodies' }, ...choices))
    newReading.addEventListener('change', () => this.update())
    changes.addEventListener('key', () => this.fill({}).stop.abort())
    this.fill({})
  }
  // fill takes values for some fields, and what a mistake adds that no field can hold.
  fill(values, added) {
    for (const [name, value] of Object.entries(values)) this.form.elements[name].value = value
    this.added = added
    const { headers = {}, query, method: other } = added ?? {}, { method, target } = this.requestWith(settings.key)
    const parts = [other, query && `?${query}`, ...Object.entries(headers).map(header => header.join(': '))]
    this.extra.replaceChildren(...parts.filter(Boolean).map(part =>
      Object.assign(button(`+ ${part} ×`, () => this.fill({}).send.focus()), { ariaLabel: `Remove ${part}` })))
    setText(this.method, method)
    setText(this.address, decodeURI(target))
    this.form.className = `try ${method}`
    this.drawSample()
    this.mark()
    this.update()
    return this
  }
  // mark shows what an error is about: a parameter, the body, or the key.
  mark({ code, message = '', status } = {}, empty) {
    const { inputs, body } = this.operation, named = inputs.find(({ name }) => message.startsWith(name))
    const parameter = named ?? inputs.find(({ in: place }) => place === 'path')
    const wrong = empty ?? (status === 400 && (code === 'invalid_parameter' ? parameter : body))
    for (const field of all('[name]', this.form)) field.ariaInvalid = field.name === wrong?.name
    $('#key').ariaInvalid = code === 'unauthorized' && !this.added?.headers
  }
  // provoke brings an error about, as its example says. What is pressed out of sight of the panel leads to it.
  provoke({ until, ...mistake }) {
    if (this.state !== 'idle') return
    const { top, bottom } = this.fill(mistakeIn(this.operation, mistake), mistake).form.getBoundingClientRect()
    const end = $('aside').getBoundingClientRect().top
    if (bottom < 100 || top > end - 100) location.hash = this.form.parentElement.closest('[id]').id
    this.run(until)
  }
  // run sends once, or until a status comes, and shows each response.
  async run(until) {
    const { path } = this.operation, isEmpty = ({ name, value }) => path.includes(`{${name}}`) && !value.trim()
    const { key } = settings, empty = all('[name]', this.form).find(isEmpty), send = () => this.sendOnce(key)
    if (this.state !== 'idle') return
    if (/[^!-~]/.test(key)) return this.show({ unsent: 'a key has only ASCII characters and no spaces' })
    if (empty) return this.show({ unsent: `${empty.name} is required`, empty })
    Object.assign(this, { state: until ? 'repeating' : 'sending', stop: new AbortController() })
    this.update()
    const tell = entry => this.show(entry), { signal } = this.stop
    const entry = await (until ? repeat(send, { until, key, signal, tell }) : send())
    this.state = 'idle'
    this.show(entry)
  }
  async sendOnce(key) {
    const { added, operation: { operationId } } = this
    const values = this.values(), time = new Date().toLocaleTimeString('en-GB')
    const plan = added?.headers?.Authorization ? 'Unknown key' : planOf(key)
    const entry = { ...await call(this.requestWith(key)), plan }
    logRequest({ ...entry, time }, [operationId, values, added], () => {
      location.hash = operationId
      const panel = panels.find(({ form }) => form.parentElement.id === operationId)
      panel.fill(values, added).show({ ...entry, sentAt: time })
    })
    return entry
  }
  // show draws a response, new or from the log. A focused button that it replaces passes the focus on.
  show(entry) {
    const refocus = this.response.contains(document.activeElement)
    const turnTo = page => this.fill(Object.fromEntries(page)).run()
    const goTo = ({ operation: { path }, values }) => panels
      .filter(({ operation, canSend }) => canSend && operation.path === path).forEach(panel => panel.fill(values))
    this.outcome.replaceChildren(...drawOutcome(entry))
    this.response.replaceChildren(...entry.status ? drawAnswer(entry, turnTo, goTo) : [])
    this.example.open = false
    this.mark(entry.body, entry.empty)
    this.update()
    if (refocus) ($('.next', this.form) ?? this.send).focus({ preventScroll: true })
  }
  // update shows what can be pressed now.
  update() {
    const { waiting, state, left, strikes } = reading(settings.key), until = state === 'wait' ? 403 : 429
    const isRead = this.canSend && this.operation.method === 'GET' && !this.extra.firstChild
    const isRepeating = this.state === 'repeating', hasMany = isRead && !['banned', 'unauthorized'].includes(state)
    setText(this.send, this.state === 'sending' ? 'Sending …' : waiting ? 'Send anyway' : 'Send')
    this.send.ariaDisabled = this.state !== 'idle'
    this.many.value = until
    this.many.hidden = !hasMany && !isRepeating
    setText(this.many, isRepeating ? 'Stop' : until === 403 ? untilBan : `Send until ${until}`)
    const dots = '●'.repeat(strikes) + '○'.repeat(strikesToBan - strikes || 0)
    const requests = hasMany && left && !isRepeating ? `${(left + 1).toLocaleString('en')} requests` : ''
    setText(this.count, strikes ? `${dots} ${strikes} of ${strikesToBan} strikes` : requests)
    this.count.classList.toggle('strikes', strikes > 0)
    this.actions.hidden = this.many.hidden && !strikes
  }
}

function drawControl(input) {
  const { in: place, required, schema, example = '' } = input
  if (place === 'body') return el('textarea', { rows: 5, spellcheck: 'false' }, print(examplesOf(input)[0].value))
  const { enum: options, type, default: preset = '' } = resolve(schema)
  const control = el(options ? 'select' : 'input', { autocomplete: 'off' })
  for (const value of options ? ['', ...options] : []) control.append(el('option', { value }, value || 'not sent'))
  if (type === 'integer') control.inputMode = 'numeric'
  return Object.assign(control, required ? { value: example } : { placeholder: example || preset })
}
// drawField draws a parameter, or the body.
function drawField(id, input) {
  const { name, schema, required } = input, control = drawControl(input)
  const hint = el('small', { id: `${id}-hint` }, control.matches('select') ? '' : rangeOf(schema))
  const label = el('label', { for: id }, name), mark = required ? el('small', { class: 'required' }, 'required') : ''
  Object.assign(control, { id, name }).setAttribute('aria-describedby', hint.id)
  return el('div', { class: 'field' }, el('div', {}, label, ' ', mark), control, hint)
}
