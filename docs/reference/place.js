// Marks the place in the navigation: where the focus is, or else what begins in the upper fifth of the screen.
import { $, all } from './draw.js'

export function placeNow() {
  return $(`main ${$('nav [aria-current]')?.hash || '#overview'}`)
}

export function watchPlace() {
  const nav = $('nav'), sections = all('main :is(section, article):not(#first)')
  const boxOf = section => section.getBoundingClientRect(), top = section => boxOf(section).top
  function find() {
    const line = innerHeight / 5, focused = document.activeElement.closest('article, article section:not(#first)')
    if (focused && boxOf(focused).bottom > line && top(focused) < innerHeight - 100) return focused
    const chosen = sections.find(section => section.matches(':target') && top(section) >= 0 && top(section) <= line)
    return chosen ?? sections.findLast(section => top(section) <= line) ?? sections[0]
  }
  function mark() {
    const place = find(), link = $(`[href="#${place.id}"]`, nav)
    if (link.ariaCurrent) return
    $('[aria-current]', nav)?.removeAttribute('aria-current')
    link.ariaCurrent = 'true'
    const { top, bottom } = link.getBoundingClientRect(), frame = nav.getBoundingClientRect()
    if (top < frame.top || bottom > frame.bottom) nav.scrollTop += top - frame.top - frame.height / 2
    history.replaceState(null, '', place === sections[0] ? '/' : link.hash)
  }
  addEventListener('hashchange', mark)
  $('main').addEventListener('focusin', mark)
  const observer = new IntersectionObserver(mark, { rootMargin: '-15% 0px -80%' })
  addEventListener('load', () => { // the address comes first
    for (const section of sections) observer.observe(section)
  })
}
