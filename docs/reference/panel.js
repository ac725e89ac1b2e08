// The panel of an operation: a form that sends what it shows, the request as code, and the response.
import { call, makeRequest, repeat } from './client.js'
import { drawSample, printJSON } from './code.js'
import { examplesOf, mistakeIn, ownStatuses, rangeOf, resolve } from './description.js'
import { $, all, announce, drawMethod, el, printDuration, setText, wide } from './draw.js'
import { isWaiting, newReading, planOf, reading, strikesToBan } from './limits.js'
import { log } from './log.js'
import { drawExample, drawResponse } from './response.js'
import { changes, period, remember, settings } from './settings.js'

export const panels = new Map() // of the operations, by their ids
let lastTouch = 0 // when the reader last did something: an outcome comes into view, unless they went on meanwhile
for (const event of ['wheel', 'touchmove', 'pointerdown', 'keydown'])
  addEventListener(event, ({ timeStamp }) => { lastTouch = timeStamp }, { passive: true })
export class Panel {
  running = null // aborts the requests that are being sent
  address = el('code', { class: 'address' })
  reset = el('button', { type: 'reset', class: 'link' }, 'Reset')
  send = el('button', { class: 'send', 'aria-keyshortcuts': 'Control+Enter' })
  wait = el('p', { class: 'wait' })
  answer = el('div', { class: 'answer' })
  stale = el('span')
  requestFor = key => makeRequest(this.operation, this.values(), key, this.extras)
  // ask is the request as text, to see whether what is shown belongs to it. An example does so with any key.
  ask = (key = settings.key) => JSON.stringify(this.requestFor(key))
  values = () => Object.fromEntries(new FormData(this.form))
  // A panel shows the example of its first status, or one of an error.
  constructor(operation, { name = 'Try it', status = ownStatuses(operation)[0], example } = {}) {
    const { method, inputs, summary, canSend } = operation, end = canSend ? this.send : el('small', {}, 'no try-out')
    this.operation = operation
    this.sample = drawSample(this.requestFor)
    this.form = el('form', { class: 'panel', autocomplete: 'off', 'aria-label': `${name}: ${summary}` },
      el('div', { class: 'head' }, drawMethod(method), this.address, this.reset, end),
      el('div', { class: 'inputs' }, ...canSend ? inputs.map(drawField) : []), ...this.sample.parts)
    example ??= examplesOf(resolve(operation.responses[status]))[0] ?? { summary: 'no body' }
    this.example = drawExample(example, status)
    const { 'x-try': mistake } = example, fill = () => mistake ? this.setMistake(mistake) : this.setValues({})
    this.form.oninput = () => this.update()
    this.form.onreset = () => setTimeout(() => { fill().show(); this.send.focus({ preventScroll: true }) })
    this.form.onsubmit = event => event.preventDefault(this.running ? this.running.abort() : this.run())
    this.send.onclick = ({ timeStamp }) => !(this.running && timeStamp - this.begun < 400) // not at a double click
    addEventListener('keydown', ({ key }) => key === 'Escape' && this.running?.abort())
    newReading.addEventListener('change', () => this.running || this.showState())
    wide.addEventListener('change', () => this.placeAnswer())
    changes.addEventListener('key', () => { this.running?.abort(); this.update() })
    this.exampleAsk = fill().ask('')
    this.show()
  }
  // setValues takes values for some fields, and what a mistake adds that no field can hold.
  setValues(values, extras) {
    for (const [name, value] of Object.entries(values)) {
      const field = this.form.elements.namedItem(name)
      if (field) field.value = value // a remembered one may be gone
    }
    this.extras = extras
    this.update()
    return this
  }
  // update shows the request that Send will send. The session keeps it for a reload.
  update() {
    this.mark()
    const { operationId } = this.operation, values = this.values()
    if (panels.get(operationId) === this) remember('sessionStorage', operationId, values)
    setText(this.address, this.requestFor('').target)
    this.sample.draw()
    this.showState()
  }
  // mark shows what an error is about: a parameter, the body, or the key.
  mark({ body: { code, message = '', status } = {}, wrong, unsent = '' } = {}) {
    const { inputs, body } = this.operation, named = inputs.find(({ name }) => message.startsWith(name))
    const parameter = named ?? inputs.find(({ in: place }) => place === 'path')
    const { name } = wrong ?? (status === 400 && (code === 'invalid_parameter' ? parameter : body)) ?? {}
    for (const field of all('[name]', this.form)) {
      field.ariaInvalid = field.name === name
      setText(field.parentElement.lastChild, field === wrong ? unsent : '')
    }
    const isUnknown = code === 'unauthorized' && !this.extras?.headers
    for (const field of all('.key > :not(label)')) field.ariaInvalid = isUnknown || field === wrong
  }
  // tryOut sends what the x-try of an example says. What is pressed out of sight of the panel leads to it.
  tryOut(mistake, status) {
    if (this.running) return
    this.setMistake(mistake)
    this.reveal($('.head', this.form))
    this.run(mistake.until, Number(status))
  }
  setMistake = mistake => this.setValues(mistakeIn(this.operation, mistake), mistake)
  async run(until, wanted) {
    const { key } = settings, wrong = all('[name]', this.form).find(({ name, value }) =>
      this.operation.path.includes(`{${name}}`) && /^\s*\.{0,2}\s*$/.test(value)) // a browser resolves dots in a path
    const refuse = (wrong, unsent) => { this.show({ wrong, unsent }); announce(`Not sent. ${unsent}`); wrong.focus() }
    if (/[^!-~]/.test(key)) return refuse($('.own'), 'A key has only ASCII characters and no spaces.')
    if (wrong) return refuse(wrong, `${wrong.name} ${wrong.value.trim()
      ? `must be an integer, such as ${wrong.defaultValue}` : 'is required'}.`)
    Object.assign(this, { running: new AbortController(), begun: performance.now() })
    this.showState()
    const { signal } = this.running, send = () => this.sendOnce(key, signal), show = entry => this.show(entry)
    const entry = await (until ? repeat(send, { until, signal, show }) : send())
    if (wanted && !until && entry.status !== wanted) entry.note = `No ${wanted} came.`
    this.running = null
    this.show(entry)
    if (lastTouch <= this.begun) this.reveal(this.answer)
    announce(entry.failure ?? `${entry.note ?? ''} ${entry.status} ${entry.statusText}.`.trim())
  }
  // reveal brings the head of the panel into view, and a part of it, if they are not.
  reveal(part) {
    const bar = $('header').getBoundingClientRect().bottom, head = $('.head', this.form).getBoundingClientRect()
    const { top } = part.getBoundingClientRect(), isBelowHead = part.contains(this.answer) ? top > head.bottom - 2 : true
    if (head.top > bar - 2 && isBelowHead && top < innerHeight - 100) return
    this.form.scrollIntoView()
    part.scrollIntoView({ block: 'nearest' })
  }
  async sendOnce(key, signal) {
    const { extras, operation: { operationId } } = this, values = this.values()
    const plan = extras?.headers?.Authorization ? 'Unknown key' : planOf(key)
    const sentAt = new Date().toLocaleTimeString('en-GB'), asked = this.ask(key)
    const timer = setTimeout(() => this.showState(true), 400)
    const entry = await call(this.requestFor(key), signal)
    clearTimeout(timer)
    log({ operationId, values, extras, entry: { ...entry, plan, sentAt } })
    return { ...entry, asked, until: reading(key)?.until }
  }
  // show draws a response, new or from the log, or the example. A focused button that it replaces passes the focus on.
  show(entry) {
    const refocus = this.answer.contains(document.activeElement)
    const turnTo = page => this.setValues(Object.fromEntries(page)).run()
    const goTo = ({ operation, values }) => panels.get(operation.operationId).setValues(values).run()
    this.entry = entry
    this.asked = entry ? entry.asked ?? this.ask() : this.exampleAsk
    this.answer.replaceChildren(...entry ? drawResponse(entry, this.wait, turnTo, goTo) : this.example)
    this.answer.firstChild.firstChild.after(this.stale)
    this.answer.classList.toggle('refused', entry ? !(entry.status < 400 || entry.isStopped) : false)
    this.placeAnswer()
    this.mark(entry)
    this.showState()
    if (refocus) ($('.next', this.form) ?? this.send).focus({ preventScroll: true })
  }
  // placeAnswer puts the response above the code or, where the panel is narrow, above the fields, so that it is seen.
  placeAnswer() {
    this.form.insertBefore(this.answer, this.entry && !wide.matches ? $('.inputs', this.form) : this.sample.parts[0])
  }
  // showState shows what can be pressed, how long to wait, and whether what is shown is for what Send will send.
  showState(isLate = false) {
    const waiting = isWaiting(settings.key), { status, until } = this.entry ?? {}
    const ask = this.ask(''), isOther = this.asked !== (this.entry ? this.ask() : ask), ms = until - Date.now()
    this.reset.hidden = ask === this.exampleAsk
    setText(this.send, this.running ? 'Stop' : waiting ? 'Send anyway' : 'Send')
    const stale = !isOther ? '' : this.entry ? 'for the previous request' : 'for another request'
    setText(this.stale, isLate ? 'Waiting…' : stale)
    this.answer.classList.toggle('stale', isLate || isOther)
    this.wait.hidden = !until || ![403, 429].includes(status)
    const advice = ms > 0 ? `Wait ${printDuration(ms)}, then send again.` : 'You can send again.'
    this.wait.replaceChildren(el('strong', {}, advice), waiting && status === 429
      ? ` ${strikesToBan} strikes per ${period} ban the key.` : '')
  }
}
function drawField(input) {
  const { name, in: place, required, schema, example = '' } = input
  const { enum: options, type, default: preset = '', ...plain } = resolve(schema)
  const control = el(place === 'body' ? 'textarea' : options ? 'select' : 'input', { name, spellcheck: 'false' })
  for (const value of options ? ['', ...options] : []) control.append(el('option', { value }, value || 'not sent'))
  if (type === 'integer') control.inputMode = 'numeric'
  if (place === 'body') control.defaultValue = printJSON(examplesOf(input)[0].value)
  else Object.assign(control, required ? { defaultValue: example } : { placeholder: example || preset })
  return el('label', { class: 'field' }, el('span', {}, el('code', {}, name), required ? ' required' : ''), control,
    el('small', {}, rangeOf(plain)), el('small')) // why it was not sent
}
