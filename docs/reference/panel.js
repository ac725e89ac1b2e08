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
/** @import { Draft, Example, Operation, Trial } from './description.js'
 * @import { Entry, Outcome } from './client.js'
 * @typedef {{ kind: 'example' | 'answered' | 'refused', request: string, status?: string, index?: number,
 *   outcome?: Outcome, isRecalled?: boolean, fault?: import('./form.js').Fault }} Shown the text of a request, and what
 *   the answer shows for it: an example of a status, what came, now or in the log, or why it was not sent
 * @typedef {{ stop: AbortController, begun: number, patience: number, since: number }} Sending what it waits for
 *   since then; what was shown before stays, and is marked after a while */
const late = 400, lateInRun = 2000 // milliseconds without a response; a run makes pauses
/** @type {Map<string, Panel>} of the operations, by their ids */
export const panels = new Map()
export class Panel {
  /** @type {Shown} */
  shown
  /** @type {Sending | null} */
  sending = null
  address = el('code', { class: 'address' })
  reset = el('button', { type: 'reset', class: 'link' }, 'Reset')
  answer = el('div', { class: 'answer' })
  notice = el('span', { class: 'notice' }) // how long it waits, or that what is shown is for another request
  advice = el('p') // when to send again
  /** A panel begins with the example of its first status or, with a heading, with one of an error.
   * @param {Operation} operation @param {{ label?: string, memory?: string, heading?: string, status?: string,
   *   example?: Example }} options */
  constructor(operation, { label = 'Try it', memory, heading = '', status, example } = {}) {
    const { method, summary, canSend } = operation, name = `${heading || label}: ${summary}`
    this.operation = operation
    this.example = example
    this.statuses = status ? [String(status)] : ownStatuses(operation)
    this.until = example?.['x-try']?.until
    this.fields = new Form(operation, memory, () => { this.update(); this.sendButton.focus() })
    this.sendButton = new SendButton(method === 'GET' && canSend, until => this.run({ until }))
    this.sample = drawSample(key => makeRequest(operation, this.fields.draft, key))
    this.head = el('div', { class: 'head flex under' }, el('b', { class: 'heading' }, heading), drawMethod(method),
      this.address, this.reset, canSend ? this.sendButton.element : el('small', {}, 'no try-out'))
    this.form = el('form', { class: 'panel beside box', autocomplete: 'off', 'aria-label': name },
      this.head, this.fields.element, this.answer, this.sample.element)
    this.form.oninput = () => this.update()
    this.form.onreset = () => setTimeout(() => { this.begin(); this.sendButton.focus() })
    this.form.onsubmit = event => { event.preventDefault(); this.submit() }
    addEventListener('keydown', ({ key }) => key === 'Escape' && !$(':popover-open') && this.stop())
    newReading.addEventListener('change', () => this.render())
    clock.addEventListener('tick', () => this.render())
    changes.addEventListener('key', () => {
      this.stop()
      this.fields.add({ headers: this.fields.headersWithout('Authorization') }) // which a trial has added
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
  /** @param {Shown} shown */
  show(shown) {
    this.shown = shown
    this.drawAnswer()
    this.render()
  }
  /** recall shows a response of the log. The form stays; the answer offers to fill it in. @param {Entry} entry */
  recall(entry) {
    if (this.sending) return
    const request = this.fields.requestText(undefined, entry.draft)
    this.show({ kind: 'answered', outcome: { entry }, isRecalled: true, request })
    reveal(this, true)
  }
  // submit sends or stops, but does not stop at the second press of a double click.
  submit() {
    if (!this.sending) this.run({ until: this.until })
    else if (performance.now() - this.sending.begun > late) this.stop()
  }
  stop() { this.sending?.stop.abort() }
  /** tryOut sends a trial, which is to bring a status. @param {Trial} trial */
  tryOut(trial, status) {
    if (this.sending) return
    this.fill(draftOf(this.operation, trial))
    this.scroller.scrollTop = 0
    reveal(this)
    this.run({ until: trial.until, wanted: Number(status) })
  }
  /** run sends once, or until a status comes. @param {{ until?: number, wanted?: number }} goal */
  async run({ until, wanted } = {}) {
    if (this.sending) return
    const { key } = settings, fault = this.fields.findFault(key), request = this.fields.requestText()
    if (fault) {
      this.show({ kind: 'refused', fault, request })
      announce(`Not sent. ${fault.text}`)
      fault.field.focus()
      return
    }
    const stop = new AbortController(), { signal } = stop, begun = performance.now()
    this.sending = { stop, begun, patience: until ? lateInRun : late, since: Date.now() }
    const timer = setInterval(() => this.render(), 100)
    const sendOnce = async () => log(await send(this.operation, this.fields.draft, key, signal))
    const show = outcome => {
      this.sending.since = Date.now()
      this.show({ kind: 'answered', request, outcome })
    }
    this.render()
    if (until) reveal(this, true)
    /** @type {Outcome} */
    const outcome = until ? await repeat(sendOnce, { until, signal, show }) : { entry: await sendOnce() }
    clearInterval(timer)
    if (wanted && !until && outcome.entry.status !== wanted) Object.assign(outcome, { wanted, miss: 'other' })
    this.sending = null
    this.show({ kind: 'answered', request, outcome })
    if (!hasGoneOn(begun)) reveal(this, true)
    announce(printOutcome(outcome))
  }
  get scroller() { return this.form.closest('.aside') ?? this.form } // where the panel is beside the text
  // isStale tells whether what is shown is for another request. An example of an error is for none.
  get isStale() {
    const isExample = this.shown.kind === 'example', isError = isExample && Number(this.shown.status) >= 400
    return !isError && this.shown.request !== this.fields.requestText(isExample ? '' : settings.key)
  }
  render() {
    const { shown, sending, isStale } = this, { kind, fault, outcome, isRecalled } = shown
    const waited = sending ? Date.now() - sending.since : 0, isLate = waited > sending?.patience
    this.form.dataset.state = isLate ? 'waiting' : sending ? 'sending' : kind
    this.answer.classList.toggle('other', isStale)
    this.answer.classList.toggle('stale', isLate || (isStale && !isRecalled))
    const stale = isStale ? `for ${kind === 'example' || isRecalled ? 'another' : 'the previous'} request` : ''
    setText(this.notice, isLate ? `Waiting ${(waited / 1000).toFixed(1)}\xa0s` : stale)
    this.sendButton.draw({ isSending: Boolean(sending), until: this.until })
    this.reset.hidden = this.fields.requestText('') === this.exampleRequest
    this.fields.mark(isStale || sending ? undefined : fault ?? (outcome && this.fields.findRefused(outcome.entry)))
    this.drawAdvice(isStale ? undefined : outcome?.entry)
  }
  /** @param {Entry} [entry] that was answered, if it is for this request */
  drawAdvice(entry) {
    const left = remaining(entry?.retryAt ?? 0), isStrike = entry?.status === 429 && isWaiting(settings.key)
    const advice = left > 0 ? `Wait ${printDuration(left)}, then send again.` : 'You can send again.'
    this.advice.hidden = !(entry?.retryAt || (entry?.failure === 'gone' && isReachable))
    setText(this.advice, isStrike ? `${advice} ${strikesToBan} strikes per ${period} ban the key.` : advice)
  }
  // drawAnswer passes the focus of a part that it replaces on.
  drawAnswer() {
    const { answer, notice, shown } = this, { kind, outcome } = shown, { activeElement } = document
    const hadFocus = answer.contains(activeElement), wasSelect = activeElement?.matches('select')
    answer.className = `answer ${outcome ? kindOf(outcome) : kind}`
    answer.replaceChildren(...this.drawShown(shown))
    answer.firstChild.firstChild.after(notice)
    const json = $('.json', answer)
    if (json?.scrollHeight > json?.clientHeight) // the keyboard scrolls what has the focus
      Object.assign(json, { tabIndex: 0, role: 'region', ariaLabel: 'Body' })
    const next = $(outcome ? '.next' : wasSelect ? 'select' : '[aria-pressed=true]', answer)
    if (hadFocus) (next ?? this.sendButton).focus({ preventScroll: true })
  }
  /** @param {Shown} shown */
  drawShown({ kind, fault, outcome, isRecalled, status, index }) {
    const { statuses, operation, advice } = this
    if (kind === 'refused') return drawRefusal(fault)
    if (kind === 'answered') return drawResponse(outcome, {
      isRecalled, advice,
      turnTo: page => this.fill({ values: Object.fromEntries(page) }).run(),
      goTo: ({ operation, values = {} }) => panels.get(operation.operationId).fill({ values }).run(),
      toExample: () => this.showExample(statuses[0]),
      fill: () => this.fill(outcome.entry.draft),
    })
    const examples = this.example ? [this.example] : examplesOf(resolve(operation.responses[status]))
    return drawExample({ statuses, status, examples, index, canSend: operation.canSend,
      choose: (status, index) => this.showExample(status, index),
      tryOut: (trial, status) => this.tryOut(trial, status) })
  }
}
