// Draws the page, and listens to what concerns all of it: the key, the scheme, the place, the keyboard.
import { api } from './description.js'
import { $, all, announce, el, react } from './draw.js'
import { groups } from './operations.js'
import { drawOverview } from './overview.js'
import './stage.js'
import './meter.js' // which has more room on stage
import { changes, choose, demoKeys, demoOf, settings } from './settings.js'
$('nav').append(drawOverview(), ...groups.flatMap(({ entry }) => entry))
$('main').append(...groups.map(({ section }) => section))
$('.missing').remove()
const menu = $('#menu'), select = $('#key'), ownKey = $('.own')
menu.onclick = ({ target }) => { if (target.closest('a')) menu.hidePopover() }
addEventListener('resize', () => $('.menu').checkVisibility() || menu.hidePopover())
select.append(...demoKeys.map(({ key }) => el('option', {}, key)), el('option', { value: '' }, 'Own key'))
select.onchange = () => choose('key', select.value)
ownKey.oninput = () => choose('key', ownKey.value.trim())
select.hidden = !demoKeys.length
react(() => {
  const { key } = settings, isOwn = !demoOf(key)
  select.value = isOwn ? '' : key
  ownKey.hidden = !isOwn
  if (isOwn && ownKey.value.trim() !== key) ownKey.value = key
}, [changes, 'key'])
const other = matchMedia('(prefers-color-scheme: dark)').matches ? 'light' : 'dark' // than the system's
$('.scheme').onclick = () => choose('scheme', settings.scheme ? '' : other)
react(() => { document.documentElement.style.colorScheme = settings.scheme }, [changes, 'scheme'])
// The section that is read is the last one that begins in the upper fifth of the screen, or the one that was
// asked for. The address names it, unless it names a part of it already: Firefox goes there after load.
const links = all('nav a'), topOf = link => $(link.hash).getBoundingClientRect().top
let section
function markSection() {
  if ($('#stage form')) return // which has one section
  const begun = links.filter(link => topOf(link) <= innerHeight / 5)
  const asked = begun.find(({ hash }) => hash === location.hash)
  const link = (asked && topOf(asked) >= 0 ? asked : begun.at(-1)) ?? links[0]
  section = $(link.hash)
  if (link.ariaCurrent) return
  for (const other of links) other.ariaCurrent = other === link ? 'true' : null
  document.title = (link === links[0] ? '' : `${$('h2, h3 a', section).textContent} | `) + api.info.title
  const { offsetTop: top, offsetHeight: height } = link
  menu.scrollTop = Math.min(top, Math.max(menu.scrollTop, top + height - menu.clientHeight))
  const isPart = links.every(({ hash }) => hash !== location.hash)
    && section.contains(document.getElementById(location.hash.slice(1)))
  if (!isPart) history.replaceState(null, '', link === links[0] ? location.pathname : link.hash)
}
addEventListener('hashchange', () => all(':target .aside, :target form').forEach(box => box.scrollTo(0, 0)))
for (const event of ['load', 'hashchange', 'scroll']) addEventListener(event, () => setTimeout(markSection))
changes.addEventListener('stage', () => setTimeout(markSection))
/** findForm returns the form that has the focus, or that of the section. */
const findForm = () => document.activeElement.closest('form')
  ?? $('#stage form') ?? $('form', section.closest('article') ?? section)
ownKey.onkeydown = ({ key, ctrlKey, metaKey }) => {
  if (key === 'Enter' && !ctrlKey && !metaKey) $('.send', findForm() ?? document)?.focus()
}
addEventListener('keydown', event => {
  if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey) || event.repeat) return
  const focused = document.activeElement.closest('form'), form = findForm(), send = form && $('.send', form)
  const { top, bottom } = (send ?? section).getBoundingClientRect()
  event.preventDefault()
  if (send && (focused || ($('.GET', form) && top > 0 && bottom < innerHeight))) form.requestSubmit()
  else {
    send?.focus() // the next press sends it
    announce(`Not sent: ${form?.ariaLabel ?? 'no form'}. Only a GET on screen is sent without the focus.`)
  }
})
