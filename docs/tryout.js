// The try-out of an operation: a form that sends what it shows.
import { $, all, button, el, fold, setText, tellApart } from './dom.js'
import { call, makeRequest } from './client.js'
import { checkInput, examplesOf, mistakeIn } from './description.js'
import { drawField, markFields } from './fields.js'
import { newReading, reading } from './limits.js'
import { logRequest } from './log.js'
import { repeat } from './repeat.js'
import { drawAnswer, drawExamples, drawOutcome } from './response.js'
import { drawSample } from './sample.js'
import { changes, demoKeys, planOf, settings } from './settings.js'

export const tryOuts = []

export class TryOut {
  state = 'idle' // or "sending" once, or "repeating"
  isEdited = false // by a person; what the page filled in is sent as it is
  inputs = []

  constructor(operation) {
    const { operationId, summary, method } = this.operation = operation
    this.form = $('#try').content.firstElementChild.cloneNode(true)
    for (const part of ['extra', 'actions', 'send', 'many', 'count', 'anyway', 'outcome', 'response'])
      this[part] = $(`.${part}`, this.form)
    this.form.ariaLabel = `Try it: ${summary}`
    const { parts, draw } = drawSample(key => makeRequest(operation, this.values(), key, this.added))
    this.drawSample = draw
    this.response.append(drawExamples(operation))
    if (operation['x-hideTryItPanel'])
      this.form.replaceChildren(el('p', {}, 'Without a form here, on purpose: send it with the code below.'), this.response)
    else this.addFields()
    this.form.append(fold('Code', 'curl, HTTP, JavaScript, Python, Go', ...parts))
    if (method !== 'GET') this.many.parentElement.remove()
    tellApart(this.form, `${operationId}-title`)
    tryOuts.push(this)
  }

  addFields() {
    const { operationId, inputs, body } = this.operation
    $('.inputs', this.form).append(...inputs.map(input => drawField(operationId, input)))
    this.inputs = inputs
    if (body) this.offerBodies(examplesOf(body))
    this.form.oninput = () => this.change(true)
    this.form.onsubmit = event => {
      event.preventDefault()
      if (!reading(settings.key).waiting) this.checkAndRun()
    }
    this.many.onclick = () => this.state === 'repeating' ? this.stop.abort() : this.checkAndRun(this.many.value)
    this.anyway.onclick = () => this.run()
    newReading.addEventListener('change', () => this.update())
    changes.addEventListener('key', () => this.added && this.fill({}))
    changes.addEventListener('key', () => this.update())
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
    const { method, query, headers = {} } = added ?? {}
    const parts = [method, query && `?${query}`, ...Object.entries(headers).map(header => header.join(': '))]
    this.extra.replaceChildren(...parts.filter(Boolean).map(part =>
      Object.assign(button(`+ ${part} ×`, () => this.fill({})), { ariaLabel: `Remove ${part}` })))
    this.change(false)
    return this
  }

  change(isEdited) {
    const { body } = this.form.elements, size = new Blob([body?.value]).size
    this.isEdited = isEdited
    this.drawSample()
    markFields(this.form, this.inputs, () => '') // until the next check
    this.update()
    if (size > 2000) setText($(`#${body.id}-hint`), `${size.toLocaleString('en')} bytes`)
  }

  values = () => Object.fromEntries(new FormData(this.form))

  checkAndRun(until) {
    const wrong = this.isEdited && markFields(this.form, this.inputs, checkInput)
    if (!wrong) return this.run(until)
    this.refuse('a field is not valid. Send anyway shows what the server says.')
    wrong.focus()
  }

  refuse(reason) {
    this.outcome.replaceChildren(`Not sent: ${reason}`)
    this.response.replaceChildren()
    this.update()
    this.outcome.scrollIntoView({ block: 'nearest' })
  }

  // provoke brings an error about, as its example says. What is pressed elsewhere leads here.
  provoke({ until, ...mistake }, origin) {
    if (!this.form.parentElement.contains(origin)) location.hash = this.operation.operationId
    this.fill(mistakeIn(this.operation, mistake), mistake).run(until)
  }

  // run sends once, or until a status comes, and shows the last response.
  async run(until) {
    const { key } = settings
    if (this.state !== 'idle') return
    if (/[^!-~]/.test(key)) return this.refuse('a key has ASCII characters alone, and no spaces.')
    Object.assign(this, { state: until ? 'repeating' : 'sending', stop: new AbortController(), isEdited: false })
    markFields(this.form, this.inputs, checkInput)
    this.update()
    const { signal } = this.stop, tell = text => setText(this.count, text), stop = () => this.stop.abort()
    changes.addEventListener('key', stop, { signal })
    const entry = await (until ? repeat(() => this.send1(key), { until: Number(until), key, signal, tell }) : this.send1(key))
    this.stop.abort()
    this.state = 'idle'
    this.show(entry)
  }

  async send1(key) {
    const values = this.values(), { added } = this, request = makeRequest(this.operation, values, key, added)
    const entry = await call(request), time = new Date().toLocaleTimeString('en-GB'), plan = planOf(key)
    logRequest({ ...entry, time, plan }, [values, added], () => {
      this.form.parentElement.scrollIntoView()
      this.fill(values, added).show({ ...entry, restored: `sent at ${time} with ${plan}` })
    })
    return entry
  }

  // show draws a response, new or from the log. A focused button that it replaces passes the focus on.
  show(entry) {
    const refocus = this.response.contains(document.activeElement)
    const turnTo = page => this.fill(Object.fromEntries(page)).run()
    const goTo = ({ path }, values) => {
      for (const other of tryOuts) if (other.operation.path === path && other.inputs.length) other.fill(values)
    }
    this.outcome.replaceChildren(...drawOutcome(entry))
    this.response.replaceChildren(...(entry.failure ? [] : drawAnswer(entry, turnTo, goTo)))
    tellApart(this.response, `${this.operation.operationId}-title`)
    this.update()
    if (refocus) ($('.next:enabled', this.form) ?? $('.send:enabled, .anyway', this.form)).focus()
    for (const part of [$('.inputs', this.form), this.outcome]) part.scrollIntoView({ block: 'nearest' })
  }

  // update shows what can be pressed now. A focused button that no longer can be passes the focus on.
  update() {
    const { waiting, state, left } = reading(settings.key), focused = document.activeElement
    const ahead = state === 'new' ? demoKeys.find(({ key }) => key === settings.key)?.perMinute : left
    const isRepeating = this.state === 'repeating', until = state === 'wait' ? 403 : 429
    this.form.ariaBusy = this.state !== 'idle'
    setText(this.send, this.state === 'sending' ? 'Sending …' : 'Send')
    for (const button of all('.send, button.next', this.form)) button.disabled = waiting
    this.many.value = until
    setText(this.many, isRepeating ? 'Stop' : `Send until ${until}`)
    this.many.disabled = state === 'banned' && !isRepeating
    this.anyway.hidden = isRepeating || (!waiting && !(this.isEdited && $('[aria-invalid=true]', this.form)))
    const count = until === 403 ? '10 seconds' : ahead && this.anyway.hidden ? `${(ahead + 1).toLocaleString('en')} requests` : ''
    if (!isRepeating) setText(this.count, count)
    if (this.actions.contains(focused) && focused.matches(':disabled, [hidden]'))
      $('button:enabled:not([hidden])', this.actions).focus()
  }
}
