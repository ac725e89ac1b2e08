// The try-out of an operation: a form that sends what it shows.
import { call, makeRequest, repeat } from './client.js'
import { examplesOf, mistakeIn } from './description.js'
import { $, all, button, el, fold, setText, tellApart } from './draw.js'
import { drawField } from './fields.js'
import { newReading, reading } from './limits.js'
import { logRequest } from './log.js'
import { drawAnswer, drawExamples, drawOutcome } from './response.js'
import { drawSample } from './sample.js'
import { changes, demoKeys, planOf, settings } from './settings.js'

export const tryOuts = []
export class TryOut {
  state = 'idle' // or "sending" once, or "repeating"
  stop = new AbortController()
  values = () => Object.fromEntries(new FormData(this.form))
  requestWith = key => makeRequest(this.operation, this.values(), key, this.added)

  constructor(operation) {
    this.operation = operation
    this.form = $('#try').content.firstElementChild.cloneNode(true)
    for (const part of ['inputs', 'extra', 'actions', 'send', 'many', 'count', 'anyway', 'outcome', 'response'])
      this[part] = $(`.${part}`, this.form)
    this.form.ariaLabel = `Try it: ${operation.summary}`
    this.response.append(drawExamples(operation))
    this.canSend = !operation['x-hideTryItPanel']
    const { parts, draw } = drawSample(key => this.requestWith(key))
    this.drawSample = draw
    if (this.canSend) this.addFields()
    else this.form.replaceChildren(el('p', {}, 'It cannot be sent from here: run the code instead.'), this.response)
    this.form.append(fold('Code', 'curl, HTTP, JavaScript, Python, Go', ...parts))
    tellApart(this.form, `${operation.operationId}-title`)
    tryOuts.push(this)
  }

  addFields() {
    const { operationId, inputs, body, method } = this.operation
    this.inputs.append(...inputs.map(input => drawField(operationId, input)))
    if (method !== 'GET') this.many.parentElement.remove()
    this.form.oninput = () => this.fill({}, this.added)
    this.form.onsubmit = event => {
      event.preventDefault()
      if (!reading(settings.key).waiting) this.run()
    }
    this.many.onclick = () => this.state === 'repeating' ? this.stop.abort() : this.fill({}).run(+this.many.value)
    this.anyway.onclick = () => this.run()
    newReading.addEventListener('change', () => this.update())
    changes.addEventListener('key', () => {
      this.stop.abort()
      this.fill({})
    })
    if (!body) return
    const examples = examplesOf(body).map(({ summary, value }) => [summary, { body: JSON.stringify(value, null, 2) }])
    const choices = examples.map(([summary, values]) => button(summary, () => this.fill(values, this.added)))
    this.form.elements.body.before(el('div', { class: 'choices', role: 'group', 'aria-label': 'Examples' }, ...choices))
    this.fill(examples[0]?.[1] ?? {})
  }

  // fill takes values for some fields, and what a mistake adds that no field can hold.
  fill(values, added) {
    for (const [name, value] of Object.entries(values)) this.form.elements[name].value = value
    this.added = added
    const { method, query, headers = {} } = added ?? {}
    const parts = [method, query && `?${query}`, ...Object.entries(headers).map(header => header.join(': '))]
    this.extra.replaceChildren(...parts.filter(Boolean).map(part =>
      Object.assign(button(`+ ${part} ×`, () => this.fill({})), { ariaLabel: `Remove ${part}` })))
    this.drawSample()
    this.mark()
    this.update()
    return this
  }

  // mark shows which field the message of an error names, or the body, in which the field may be.
  mark({ code, message } = {}, empty) {
    const isNamed = ({ name, in: place }) => place === 'path' ? /in the path/.test(message) : message.startsWith(name)
    const named = code === 'invalid_request' && (this.operation.inputs.find(isNamed) ?? this.operation.body)
    for (const field of all('[name]', this.form)) field.ariaInvalid = field === empty || field.name === named?.name
  }

  // provoke brings an error about, as its example says. What is pressed elsewhere leads here.
  provoke({ until, ...mistake }, origin) {
    if (!this.form.parentElement.contains(origin)) location.hash = this.operation.operationId
    this.fill(mistakeIn(this.operation, mistake), mistake).run(until)
  }

  // run sends once, or until a status comes, and shows the last response.
  async run(until) {
    const { path } = this.operation, isEmpty = ({ name, value }) => path.includes(`{${name}}`) && !value.trim()
    const { key } = settings, empty = all('[name]', this.form).find(isEmpty), send = () => this.sendOnce(key)
    if (this.state !== 'idle') return
    if (/[^!-~]/.test(key)) return this.show({ unsent: 'a key has only ASCII characters and no spaces' })
    if (empty) return this.show({ unsent: `${empty.name} is required`, empty })
    Object.assign(this, { state: until ? 'repeating' : 'sending', stop: new AbortController() })
    this.update()
    const { signal } = this.stop, tell = text => setText(this.count, text)
    const entry = await (until ? repeat(send, { until, key, signal, tell }) : send())
    this.state = 'idle'
    this.show(entry)
  }
  async sendOnce(key) {
    const values = this.values(), { added } = this, plan = added?.headers?.Authorization ? 'unknown key' : planOf(key)
    const entry = await call(this.requestWith(key)), time = new Date().toLocaleTimeString('en-GB')
    logRequest({ ...entry, time, plan }, [values, added], () => {
      this.form.parentElement.scrollIntoView()
      this.fill(values, added).show({ ...entry, restored: `sent at ${time}, ${plan}` })
    })
    return entry
  }

  // show draws a response, new or from the log. A focused button that it replaces passes the focus on.
  show(entry) {
    const refocus = this.response.contains(document.activeElement)
    const turnTo = page => this.fill(Object.fromEntries(page)).run()
    const goTo = ({ operation: { path }, values }) => tryOuts
      .filter(({ operation, canSend }) => canSend && operation.path === path).forEach(other => other.fill(values))
    this.outcome.replaceChildren(...drawOutcome(entry))
    this.response.replaceChildren(...(entry.failure || entry.unsent ? [] : drawAnswer(entry, turnTo, goTo)))
    this.mark(entry.body, entry.empty)
    tellApart(this.response, `${this.operation.operationId}-title`)
    this.update()
    if (refocus) ($('.next:enabled', this.form) ?? $('.send:enabled, .anyway', this.form)).focus()
    for (const part of [this.inputs, this.outcome]) part.scrollIntoView({ block: 'nearest' })
  }

  // update shows what can be pressed now. A focused button that no longer can be passes the focus on.
  update() {
    const { waiting, state, left } = reading(settings.key), focused = document.activeElement
    const ahead = state === 'new' ? demoKeys.find(({ key }) => key === settings.key)?.perMinute : left
    const isRepeating = this.state === 'repeating', until = state === 'wait' ? 403 : 429
    this.form.ariaBusy = this.state !== 'idle'
    setText(this.send, this.state === 'sending' ? 'Sending …' : 'Send')
    for (const button of all('.send, button.next', this.form)) button.disabled = waiting
    Object.assign(this.many, { value: until, disabled: state === 'banned' && !isRepeating })
    setText(this.many, isRepeating ? 'Stop' : `Send until ${until}`)
    this.anyway.hidden = isRepeating || !waiting
    const requests = ahead ? `${(ahead + 1).toLocaleString('en')} requests` : ''
    if (!isRepeating) setText(this.count, until === 403 ? 'takes 10 seconds' : this.anyway.hidden ? requests : '')
    if (this.actions.contains(focused) && focused.matches(':disabled, [hidden]'))
      $('button:enabled:not([hidden])', this.actions).focus()
  }
}
