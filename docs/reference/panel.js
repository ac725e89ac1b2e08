// The panel of an operation: its fields, the request as code, and what came of it.
import { call, repeat } from './client.js'
import { drawSample } from './code.js'
import { examplesOf, mistakeIn, ownStatuses, resolve } from './description.js'
import { $, announce, drawMethod, el, printDuration, setText } from './draw.js'
import { Fields } from './form.js'
import { isReachable, isWaiting, newReading, planOf, strikesToBan } from './limits.js'
import { log } from './log.js'
import { drawExample, drawRefusal, drawResponse, outcomeOf } from './response.js'
import { changes, period, settings } from './settings.js'
let lastTouch = 0 // when the reader last did something: an outcome comes into view unless they went on
for (const event of ['wheel', 'touchmove', 'pointerdown', 'keydown'])
  addEventListener(event, ({ timeStamp }) => { lastTouch = timeStamp }, { passive: true })
const rectOf = part => part.getBoundingClientRect()
const late = 400 // milliseconds without a response, after which the panel says that it waits
export const panels = new Map() // of the operations, by their ids
export class Panel {
  // What the panel shows. Each state has the text of the request that it is for.
  //   { kind: 'example' }                             nothing has been sent
  //   { kind: 'sending', stop, begun, since, before } what it waits for since then, and the state of before
  //   { kind: 'answered', entry, isRecalled }         what came of it, as client.js says, now or in the log
  //   { kind: 'refused', fault }                      it was not sent; form.js says what is wrong
  state = null
  address = el('code', { class: 'address' })
  reset = el('button', { type: 'reset', class: 'link' }, 'Reset')
  send = el('button', { class: 'send', 'aria-keyshortcuts': 'Control+Enter' })
  answer = el('div', { class: 'answer' })
  notice = el('span', { class: 'notice' }) // how long it waits, or that what is shown is for another request
  advice = el('p', { class: 'advice' }) // when to send again
  // A panel shows the example of its first status, or one of an error.
  constructor(operation, options = {}) {
    const { label = 'Try it', heading = '', status = ownStatuses(operation)[0], memory } = options
    const { method, summary, canSend } = operation, end = canSend ? this.send : el('small', {}, 'no try-out')
    this.operation = operation
    this.fields = new Fields(operation, memory)
    this.sample = drawSample(key => this.fields.requestWith(key))
    this.head = el('div', { class: 'head' }, el('b', { class: 'heading' }, heading), drawMethod(method),
      this.address, this.reset, end)
    const name = `${heading || label}: ${summary}`
    this.form = el('form', { class: 'panel', autocomplete: 'off', 'aria-label': name },
      this.head, this.fields.element, this.answer, ...this.sample.parts)
    const { example = examplesOf(resolve(operation.responses[status]))[0] ?? {} } = options
    Object.assign(this, { status, example, until: example['x-try']?.until })
    this.form.oninput = () => this.update()
    this.form.onreset = () => setTimeout(() => { this.showExample(); this.send.focus() })
    this.form.onsubmit = event => { event.preventDefault(); this.submit() }
    addEventListener('keydown', ({ key }) => key === 'Escape' && this.stop())
    newReading.addEventListener('change', () => this.render())
    changes.addEventListener('key', () => { this.stop(); this.update() })
    this.showExample()
    this.setValues(this.fields.remembered ?? {}, this.fields.extras)
  }
  showExample() {
    const { 'x-try': mistake } = this.example
    this.fields.fill(mistake ? mistakeIn(this.operation, mistake) : {}, mistake)
    this.exampleRequest = this.requestText('')
    this.show({ kind: 'example', request: this.exampleRequest })
    this.update()
  }
  setValues(values, extras) {
    this.fields.fill(values, extras)
    this.update()
    return this
  }
  requestText(key = settings.key) { return JSON.stringify(this.fields.requestWith(key)) }
  // update shows the request that Send will send.
  update() {
    this.fields.remember()
    setText(this.address, this.fields.requestWith('').target)
    this.sample.draw()
    this.render()
  }
  show(state) { this.state = state; this.render() }
  recall(entry) { this.show({ kind: 'answered', entry, isRecalled: true, request: this.requestText() }) }
  // submit sends or stops, but does not stop at the second press of a double click.
  submit() {
    if (this.state.kind !== 'sending') this.run(this.until)
    else if (performance.now() - this.state.begun > late) this.stop()
  }
  stop() { this.state.stop?.abort() }
  // tryOut sends what the x-try of an example says, and notes if another status comes.
  tryOut(mistake, status) {
    if (this.state.kind === 'sending') return
    this.setValues(mistakeIn(this.operation, mistake), mistake)
    this.scroller.scrollTop = 0
    this.reveal()
    this.run(mistake.until, Number(status))
  }
  async run(until, wanted) {
    if (this.state.kind === 'sending') return
    const { key } = settings, fault = this.fields.findFault(key), request = this.requestText()
    if (fault) {
      this.show({ kind: 'refused', fault, request })
      announce(`Not sent. ${fault.text}`)
      fault.field.focus()
      return
    }
    const stop = new AbortController(), { signal } = stop, begun = performance.now()
    const answered = entry => ({ kind: 'answered', entry, request })
    const wait = before => this.show({ kind: 'sending', stop, begun, since: Date.now(), before, request })
    const send = () => this.sendOnce(key, signal), showEntry = entry => wait(answered(entry))
    const timer = setInterval(() => this.render(), 100)
    wait(this.state)
    if (until) this.reveal(this.answer.firstChild)
    const entry = await (until ? repeat(send, { until, signal, show: showEntry }) : send())
    clearInterval(timer)
    if (wanted && !until && entry.status !== wanted)
      Object.assign(entry, { isMissed: true, note: `No ${wanted} came.` })
    this.show(answered(entry))
    if (lastTouch <= begun) this.reveal(this.answer.firstChild)
    announce(entry.failure ?? `${entry.note ?? ''} ${entry.status} ${entry.statusText}.`.trim())
  }
  async sendOnce(key, signal) {
    const { values, extras } = this.fields, { operationId } = this.operation
    const plan = extras?.headers?.Authorization ? 'Unknown key' : planOf(key)
    const sentAt = new Date().toLocaleTimeString('en-GB')
    const entry = { ...await call(this.fields.requestWith(key), signal), plan, sentAt }
    log({ operationId, values, extras, entry })
    return entry
  }
  get scroller() { return this.form.closest('.aside') ?? this.form } // where the panel is beside the text
  // reveal scrolls until the head is in view and, beneath it, an answer: its first line and some of its body.
  reveal(line) {
    const bar = Math.max(0, rectOf($('header')).bottom), head = rectOf(this.head)
    if (head.top < bar - 2 || head.bottom > innerHeight) scrollBy(0, rectOf(this.form).top - bar - 8)
    for (const box of line ? [this.scroller, window] : []) {
      const { top } = rectOf(line), { bottom } = rectOf(this.answer), edge = box === window ? bar : rectOf(box).top
      if (top < rectOf(this.head).bottom - 2 || Math.min(bottom, top + 180) > innerHeight)
        box.scrollBy(0, top - edge - head.height) // to where it is right beneath the head, which stays at the edge
    }
  }
  // render shows the state. While a request is sent, what was there before stays; it is marked after a while.
  render() {
    const { state } = this, isSending = state.kind === 'sending', shown = isSending ? state.before : state
    const { kind, entry, request } = shown, isExample = kind === 'example'
    const isStale = request !== this.requestText(isExample ? '' : settings.key)
    const waited = isSending ? Date.now() - state.since : 0, isLate = waited > late
    if (this.shown !== shown) this.drawAnswer(shown)
    this.form.dataset.state = isLate ? 'waiting' : state.kind
    this.answer.classList.toggle('stale', isLate || isStale)
    const stale = !isStale ? '' : isExample ? 'for another request' : 'for the previous request'
    setText(this.notice, isLate ? `Waiting ${(waited / 1000).toFixed(1)}\xa0s` : stale)
    this.send.classList.toggle('stop', isSending)
    const name = this.until ? `Send until ${this.until}` : isWaiting(settings.key) ? 'Send anyway' : 'Send'
    setText(this.send, isSending ? 'Stop' : name)
    this.reset.hidden = this.requestText('') === this.exampleRequest
    this.fields.mark(isStale || isSending ? null : shown.fault ?? this.fields.findRefused(entry?.body ?? {}))
    const ms = entry?.retryAt - Date.now(), isStrike = entry?.status === 429 && isWaiting(settings.key)
    const advice = ms > 0 ? `Wait ${printDuration(ms)}, then send again.` : 'You can send again.'
    this.advice.hidden = isStale || !(entry?.retryAt || (entry?.isGone && isReachable))
    setText(this.advice, isStrike ? `${advice} ${strikesToBan} strikes per ${period} ban the key.` : advice)
  }
  // drawAnswer passes the focus of a button that it replaces on.
  drawAnswer(shown) {
    const { kind, entry, fault, isRecalled } = shown, { answer, notice, advice } = this
    const hadFocus = answer.contains(document.activeElement)
    const turnTo = page => this.setValues(Object.fromEntries(page)).run()
    const goTo = ({ operation, values = {} }) => panels.get(operation.operationId).setValues(values).run()
    this.shown = shown
    answer.className = `answer ${entry ? outcomeOf(entry) : fault ? 'bad' : kind}`
    answer.replaceChildren(...{
      example: () => drawExample(this.example, this.status),
      answered: () => drawResponse(entry, { isRecalled, advice, turnTo, goTo }),
      refused: () => drawRefusal(fault),
    }[kind]())
    answer.firstChild.firstChild.after(notice)
    const json = $('.json', answer)
    if (json?.scrollHeight > json?.clientHeight) // the keyboard scrolls what has the focus
      Object.assign(json, { tabIndex: 0, role: 'region', ariaLabel: 'Body' })
    if (hadFocus) ($('.next', answer) ?? this.send).focus({ preventScroll: true })
  }
}
