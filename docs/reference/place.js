// Marks the place in the navigation: where the focus is, or else what begins in the upper fifth of the screen.
import { $, all } from './draw.js'

let here = $('#overview')
// formHere finds the form that the keyboard sends: the one that has the focus, or that of the place.
export const formHere = () => document.activeElement.closest('form') ?? $('form', here.closest('article') ?? undefined)

export function watchPlace() {
  const sections = all('main :is(section, article):not(#first)'), boxOf = section => section.getBoundingClientRect()
  function find() {
    const line = innerHeight / 5, { activeElement } = document, { top, bottom } = boxOf(activeElement)
    const focused = activeElement.closest('article, article section:not(#first)')
    if (focused && bottom > 0 && top < innerHeight && boxOf(focused).bottom > line) return focused
    const begun = sections.filter(section => boxOf(section).top <= line)
    return begun.find(section => section.matches(':target') && boxOf(section).top >= 0) ?? begun.at(-1) ?? sections[0]
  }
  function mark() {
    here = find()
    const nav = $('nav'), link = $(`[href="#${here.id}"]`, nav), { offsetTop: top, offsetHeight } = link
    if (link.ariaCurrent) return
    $('nav [aria-current]')?.removeAttribute('aria-current')
    link.ariaCurrent = 'true'
    nav.scrollTop = Math.min(top, Math.max(nav.scrollTop, top + offsetHeight - nav.clientHeight))
    history.replaceState(null, '', here === sections[0] ? '/' : link.hash)
  }
  addEventListener('hashchange', mark)
  $('main').addEventListener('focusin', () => setTimeout(mark)) // a browser may scroll after it
  const observer = new IntersectionObserver(mark, { rootMargin: '-15% 0px -80%' })
  addEventListener('load', () => sections.forEach(section => observer.observe(section))) // the address comes first
}
