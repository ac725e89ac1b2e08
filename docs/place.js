// Keeps the navigation and the address at what begins in the upper fifth of the screen: what was chosen, or the last.
import { $, all } from './dom.js'

let sections

export function followPlace() {
  sections = all('main section, article')
  addEventListener('hashchange', markPlace)
  addEventListener('resize', () => $('.menu').checkVisibility() || $('#menu').hidePopover())
  $('nav').onclick = ({ target }) => { if (target.closest('a')) $('#menu').hidePopover() }
  const observer = new IntersectionObserver(markPlace, { rootMargin: '-15% 0px -80%' })
  // Until all is loaded, the address says where to go.
  addEventListener('load', () => { for (const section of sections) observer.observe(section) })
}

function markPlace() {
  const top = section => section.getBoundingClientRect().top, line = innerHeight / 5
  const chosen = sections.find(section => section.matches(':target') && top(section) >= 0 && top(section) <= line)
  const seen = chosen ?? sections.findLast(section => top(section) <= line) ?? sections[0]
  const link = $(`nav [href="#${seen.id}"]`), frame = link.offsetParent
  if (link.ariaCurrent) return
  $('nav [aria-current]')?.removeAttribute('aria-current')
  link.ariaCurrent = 'true'
  if (frame) frame.scrollTop = link.offsetTop - frame.clientHeight / 2
  history.replaceState(null, '', seen === sections[0] ? '/' : link.hash)
}

// formHere returns the form that has the focus, if it is in view, or else that of the operation marked.
export function formHere() {
  const focused = document.activeElement?.closest('form'), { top, bottom } = focused?.getBoundingClientRect() ?? {}
  if (bottom > 0 && top < innerHeight) return focused
  const marked = $('nav [aria-current]')?.hash
  return marked && $(`article${marked} form:has(.send)`)
}
