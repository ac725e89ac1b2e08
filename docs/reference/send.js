// Send, and the menu of what else it can do: send until a refusal comes. Only a GET has the menu, as a POST
// would make as many records as it needs requests.
import { $, all, button, el, printNumber, setText } from './draw.js'
import { isWaiting, limitsOf, reading } from './limits.js'
import { settings } from './settings.js'
/** A SendButton belongs to a form, which it submits. Its menu calls run with the status to wait for. */
export class SendButton {
  send = el('button', { class: 'send', 'aria-keyshortcuts': 'Control+Enter' })
  menu = el('div', { class: 'ways float', popover: '', role: 'menu', 'aria-label': 'More ways to send' })
  more = Object.assign(el('button', { type: 'button', class: 'more-ways opens', 'aria-label': 'More ways to send',
    'aria-haspopup': 'menu' }), { popoverTargetElement: this.menu })
  element = el('div', { class: 'sending' }, this.send)
  /** @param {boolean} hasMenu @param {(until: number) => void} run */
  constructor(hasMenu, run) {
    this.run = run
    if (hasMenu) this.element.append(this.more, this.menu)
    this.menu.onbeforetoggle = ({ newState }) => newState === 'open' && this.drawMenu()
    this.menu.ontoggle = ({ newState }) => newState === 'open' && this.open()
    this.menu.onkeydown = event => this.move(event)
  }
  drawMenu() {
    const { state, left = limitsOf(settings.key).perMinute } = reading(settings.key) ?? {}
    const at = state === 'unsure' || left === undefined ? '' : `request ${printNumber(left + 1)}`
    const drawWay = (until, note, kind) => {
      const way = button(`Until ${until}`, () => {
        this.menu.hidePopover()
        this.send.focus({ preventScroll: true })
        this.run(until)
      }, kind)
      way.role = 'menuitem'
      way.append(el('small', {}, note))
      return way
    }
    this.menu.replaceChildren(drawWay(429, state === 'wait' ? 'the next request' : at, 'plain flex'),
      drawWay(403, 'bans this key', 'plain flex danger'))
  }
  open() {
    const { right, bottom } = this.more.getBoundingClientRect()
    this.menu.style.left = `${Math.max(8, right - this.menu.offsetWidth)}px`
    this.menu.style.top = `${bottom + 4}px`
    addEventListener('scroll', () => this.menu.hidePopover(), { once: true, capture: true })
    $('button', this.menu).focus({ preventScroll: true })
  }
  move(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key], ways = all('button', this.menu)
    if (!step) return
    event.preventDefault()
    ways.at((ways.indexOf(document.activeElement) + step) % ways.length).focus()
  }
  /** @param {{ isSending: boolean, until?: number }} state until is the panel's own */
  draw({ isSending, until }) {
    const { key } = settings, name = until ? `Send until ${until}` : isWaiting(key) ? 'Send anyway' : 'Send'
    setText(this.send, isSending ? 'Stop' : name)
    this.send.classList.toggle('stop', isSending)
    this.more.hidden = isSending || Boolean(until) || !key
      || ['banned', 'unauthorized'].includes(reading(key)?.state)
  }
}
