// Send, and the menu of what else it can do: send until a refusal comes. Only a GET has the menu, as a POST
// would make as many records as it needs requests.
import { $, button, el, printNumber, setText } from './draw.js'
import { isWaiting, limitsOf, reading } from './limits.js'
import { settings } from './settings.js'
/** A SendButton belongs to a form, which it submits. Its menu calls run with the status to wait for. */
export class SendButton {
  send = el('button', { class: 'send', 'aria-keyshortcuts': 'Control+Enter' })
  at = el('small') // the request that is the first to be refused
  menu = el('div', { class: 'ways float box', popover: '' },
    this.drawWay(429, this.at, 'plain flex'), this.drawWay(403, el('small', {}, 'bans this key'), 'plain flex danger'))
  more = Object.assign(el('button', { type: 'button', class: 'more-ways opens', 'aria-label': 'More ways to send' }),
    { popoverTargetElement: this.menu })
  /** @param {boolean} hasMenu @param {(until: number) => void} run */
  constructor(hasMenu, run) {
    this.run = run
    this.element = el('div', { class: 'sending' }, this.send, ...hasMenu ? [this.more, this.menu] : [])
    this.menu.ontoggle = ({ newState }) => newState === 'open' && this.place()
    this.menu.onkeydown = event => {
      if (!/^Arrow/.test(event.key)) return
      event.preventDefault() // to scroll closes the menu
      $('button:not(:focus)', this.menu).focus()
    }
  }
  drawWay(until, note, kind) {
    const way = button(`Until ${until} `, () => {
      this.menu.hidePopover()
      this.focus()
      this.run(until)
    }, kind)
    way.append(note)
    return way
  }
  // place puts the menu under its button, until the page scrolls.
  place() {
    const { right, bottom } = this.more.getBoundingClientRect(), { style, offsetWidth } = this.menu
    Object.assign(style, { left: `${Math.max(8, right - offsetWidth)}px`, top: `${bottom + 4}px` })
    const close = () => {
      if (this.more.getBoundingClientRect().bottom === bottom) return // of a scroll before
      removeEventListener('scroll', close, true)
      this.menu.hidePopover()
    }
    addEventListener('scroll', close, true)
    this.menu.firstChild.focus({ preventScroll: true })
  }
  focus() { this.send.focus({ preventScroll: true }) }
  /** @param {{ isSending: boolean, until?: number }} state until is the panel's own */
  draw({ isSending, until }) {
    const { key } = settings, name = until ? `Send until ${until}` : isWaiting(key) ? 'Send anyway' : 'Send'
    const { state = '', left = limitsOf(key).perMinute } = reading(key) ?? {}
    setText(this.send, isSending ? 'Stop' : name)
    this.send.classList.toggle('stop', isSending)
    this.more.hidden = isSending || Boolean(until) || !key || ['banned', 'unauthorized'].includes(state)
    setText(this.at, state === 'wait' ? 'the next request' : left >= 0 ? `request ${printNumber(left + 1)}` : '')
  }
}
