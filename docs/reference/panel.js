// The panel of an operation: its form, what came of the request, and the request as code.
import { clock, remaining } from './clock.js'
import { makeRequest, repeat, send } from './client.js'
import { drawSample } from './code.js'
import { draftOf, examplesOf, ownStatuses, resolve } from './description.js'
import { $, announce, drawMethod, el, printDuration, setText } from './draw.js'
import { Form } from './form.js'
import { isReachable, isWaiting, newReading, strikesToBan } from './limits.js'
import { log } from './log.js'
import { drawExample, drawRefusal, drawResponse, kindOf, printOutcome } from './response.js'
import { hasGoneOn, reveal } from './scroll.js'
import { SendButton } from './send.js'
import { changes, period, settings } from './settings.js'
/** @typedef {import('./client.js').Outcome} Outcome
 * @typedef {{ kind: 'example', request: string, status: string, index: number }} ExampleState
 * @typedef {{ kind: 'answered', request: string, isRecalled?: boolean } & Outcome} AnsweredState
 * @typedef {{ kind: 'refused', request: string, fault: import('./form.js').Fault }} RefusedState not sent
 * @typedef {ExampleState | AnsweredState | RefusedState} Shown with the text of the request that it is for
 * @typedef {{ kind: 'sending', stop: AbortController, begun: number, patience: number, since: number,
 *   before: Shown }} Sending
 *   waits since then; what was there before stays, and is marked after a while */
const late = 400 // milliseconds without a response, after which the panel says that it waits
const lateInRun = 2000 // as a run makes pauses
/** @type {Map<string, Panel>} of the operations, by their ids */
export const panels = new Map()
export class Panel {
  /** @type {Shown | Sending} */
  state
  address = el('code', { class: 'address' })
  reset = el('button', { type: 'reset', class: 'link' }, 'Reset')
  answer = el('div', { class: 'answer' })
  notice = el('span', { class: 'notice' }) // how long it waits, or that what is shown is for another request
  advice = el('p', { class: 'advice' }) // when to send again
  /** A panel begins with the example of its first status or, with a heading, with one of an error.
   * @param {import('./description.js').Operation} operation
   * @param {{ label?: string, memory?: string, heading?: string, status?: string,
   *   example?: import('./description.js').Example }} options */
  constructor(operation, { label = 'Try it', memory, heading = '', status, example } = {}) {
    const { method, summary, canSend } = operation
    this.operation = operation
    this.example = example
    this.statuses = status ? [String(status)] : ownStatuses(operation)
    this.until = example?.['x-try']?.until
    this.fields = new Form(operation, memory, () => { this.update(); this.sendButton.send.focus() })
    this.sendButton = new SendButton(method === 'GET' && canSend, until => this.run({ until }))
    this.sample = drawSample(key => makeRequest(operation, this.fields.draft, key))
    this.head = el('div', { class: 'head flex' }, el('b', { class: 'heading' }, heading), drawMethod(method),
      this.address, this.reset, canSend ? this.sendButton.element : el('small', {}, 'no try-out'))
    this.form = el('form', { class: 'panel', autocomplete: 'off', 'aria-label': `${heading || label}: ${summary}` },
      this.head, this.fields.element, this.answer, this.sample.element)
    this.form.oninput = () => this.update()
    this.form.onreset = () => setTimeout(() => { this.begin(); this.sendButton.send.focus() })
    this.form.onsubmit = event => { event.preventDefault(); this.submit() }
    addEventListener('keydown', ({ key }) => key === 'Escape' && !$(':popover-open') && this.stop())
    newReading.addEventListener('change', () => this.render())
    clock.addEventListener('tick', () => this.render())
    changes.addEventListener('key', () => {
      this.stop()
      this.fields.dropHeader('Authorization') // which a trial has added
      this.update()
    })
    this.begin()
    this.fill({ ...this.fields.draft, values: this.fields.remembered ?? {} })
  }
  // begin fills in the example. Its request is the one that the example of a success is for.
  begin() {
    const trial = this.example?.['x-try']
    this.fields.fill(trial ? draftOf(this.operation, trial) : { values: {} })
    this.exampleRequest = this.fields.requestText('')
    this.showExample(this.statuses[0])
    this.update()
  }
  showExample(status, index = 0) {
    this.show({ kind: 'example', request: this.exampleRequest, status, index })
  }
  /** @param {import('./description.js').Draft} draft */
  fill(draft) {
    this.fields.fill(draft)
    this.update()
    return this
  }
  // update shows the request that Send will send.
  update() {
    this.fields.remember()
    setText(this.address, makeRequest(this.operation, this.fields.draft, '').target)
    this.sample.draw()
    this.render()
  }
  show(state) { this.state = state; this.render() }
  // recall shows a response of the log. The form stays as it is; the answer offers to fill it in.
  recall(entry) {
    if (this.state.kind === 'sending') return
    this.show({ kind: 'answered', entry, isRecalled: true, request: this.fields.requestText(undefined, entry.draft) })
    reveal(this, true)
  }
  // submit sends or stops, but does not stop at the second press of a double click.
  submit() {
    if (this.state.kind !== 'sending') this.run({ until: this.until })
    else if (performance.now() - this.state.begun > late) this.stop()
  }
  stop() { if (this.state.kind === 'sending') this.state.stop.abort() }
  /** tryOut sends a trial, which is to bring a status. @param {import('./description.js').Trial} trial */
  tryOut(trial, status) {
    if (this.state.kind === 'sending') return
    this.fill(draftOf(this.operation, trial))
    this.scroller.scrollTop = 0
    reveal(this)
    this.run({ until: trial.until, wanted: Number(status) })
  }
  /** run sends once, or until a status comes. @param {{ until?: number, wanted?: number }} goal */
  async run({ until, wanted } = {}) {
    if (this.state.kind === 'sending') return
    const { key } = settings, fault = this.fields.findFault(key), request = this.fields.requestText()
    if (fault) {
      this.show({ kind: 'refused', fault, request })
      announce(`Not sent. ${fault.text}`)
      fault.field.focus()
      return
    }
    const stop = new AbortController(), { signal } = stop, begun = performance.now()
    const patience = until ? lateInRun : late
    const wait = before => this.show({ kind: 'sending', stop, begun, patience, since: Date.now(), before })
    const sendOnce = async () => {
      const entry = await send(this.operation, this.fields.draft, key, signal)
      log(entry)
      return entry
    }
    const timer = setInterval(() => this.render(), 100)
    wait(this.state)
    if (until) reveal(this, true)
    const show = outcome => wait({ kind: 'answered', request, ...outcome })
    /** @type {Outcome} */
    const outcome = until ? await repeat(sendOnce, { until, signal, show }) : { entry: await sendOnce() }
    clearInterval(timer)
    if (wanted && !until && outcome.entry.status !== wanted) Object.assign(outcome, { wanted, miss: 'other' })
    this.show({ kind: 'answered', request, ...outcome })
    if (!hasGoneOn(begun)) reveal(this, true)
    announce(printOutcome(outcome))
  }
  get scroller() { return this.form.closest('.aside') ?? this.form } // where the panel is beside the text
  /** isStale tells whether what is shown is for another request. An example of an error is for none.
   * @param {Shown} shown */
  isStale(shown) {
    if (shown.kind === 'example')
      return Number(shown.status) < 400 && shown.request !== this.fields.requestText('')
    return shown.request !== this.fields.requestText()
  }
  render() {
    const { state } = this, isSending = state.kind === 'sending', shown = isSending ? state.before : state
    const isStale = this.isStale(shown), waited = isSending ? Date.now() - state.since : 0
    const isLate = isSending && waited > state.patience
    if (this.shown !== shown) this.drawAnswer(shown)
    this.form.dataset.state = isLate ? 'waiting' : state.kind
    this.answer.classList.toggle('other', isStale)
    this.answer.classList.toggle('stale', isLate || (isStale && !('isRecalled' in shown)))
    const isPrevious = shown.kind !== 'example' && !('isRecalled' in shown)
    const stale = isStale ? `for ${isPrevious ? 'the previous' : 'another'} request` : ''
    setText(this.notice, isLate ? `Waiting ${(waited / 1000).toFixed(1)}\xa0s` : stale)
    this.sendButton.draw({ isSending, until: this.until })
    this.reset.hidden = this.fields.requestText('') === this.exampleRequest
    const fault = shown.kind === 'refused' ? shown.fault
      : shown.kind === 'answered' ? this.fields.findRefused(shown.entry) : undefined
    this.fields.mark(isStale || isSending ? undefined : fault)
    this.drawAdvice(isStale || shown.kind !== 'answered' ? undefined : shown.entry)
  }
  /** @param {import('./client.js').Entry} [entry] that was answered, if it is for this request */
  drawAdvice(entry) {
    const left = remaining(entry?.retryAt ?? 0), isStrike = entry?.status === 429 && isWaiting(settings.key)
    const advice = left > 0 ? `Wait ${printDuration(left)}, then send again.` : 'You can send again.'
    this.advice.hidden = !(entry?.retryAt || (entry?.failure === 'gone' && isReachable))
    setText(this.advice, isStrike ? `${advice} ${strikesToBan} strikes per ${period} ban the key.` : advice)
  }
  /** drawAnswer passes the focus of a button that it replaces on. @param {Shown} shown */
  drawAnswer(shown) {
    const { answer, notice, advice } = this, { activeElement } = document
    const wasIn = answer.contains(activeElement) ? activeElement : null
    this.shown = shown
    answer.className = `answer ${shown.kind === 'answered' ? kindOf(shown) : shown.kind}`
    answer.replaceChildren(...this.drawShown(shown, advice))
    answer.firstChild.firstChild.after(notice)
    const json = $('.json', answer)
    if (json?.scrollHeight > json?.clientHeight) // the keyboard scrolls what has the focus
      Object.assign(json, { tabIndex: 0, role: 'region', ariaLabel: 'Body' })
    const next = shown.kind === 'example' ? $(wasIn?.matches('select') ? 'select' : '[aria-pressed=true]', answer)
      : $('.next', answer)
    if (wasIn) (next ?? this.sendButton.send).focus({ preventScroll: true })
  }
  /** @param {Shown} shown */
  drawShown(shown, advice) {
    if (shown.kind === 'refused') return drawRefusal(shown.fault)
    if (shown.kind === 'answered') return drawResponse(shown, {
      advice,
      turnTo: page => this.fill({ values: Object.fromEntries(page) }).run(),
      goTo: ({ operation, values = {} }) => panels.get(operation.operationId).fill({ values }).run(),
      toExample: () => this.showExample(this.statuses[0]),
      fill: () => this.fill(shown.entry.draft),
    })
    const { statuses, operation } = this, { status, index } = shown
    const examples = this.example ? [this.example] : examplesOf(resolve(operation.responses[status]))
    return drawExample({ statuses, status, examples, index, canSend: operation.canSend,
      choose: (status, index) => this.showExample(status, index),
      tryOut: (trial, status) => this.tryOut(trial, status) })
  }
}
