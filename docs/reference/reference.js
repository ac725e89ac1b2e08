// Draws the page, and listens to what concerns all of it: the place, the key, the keyboard.
import { drawGroup, drawOverview } from './described.js'
import { api } from './description.js'
import { $, all, setText } from './draw.js'
import './meter.js'
import { changes, choose, demoKeys, drawChoices, planOf, settings } from './settings.js'
import { tryOuts } from './tryout.js'

const groups = api.tags.filter(tag => !tag['x-parent']).map(tag => drawGroup(tag, 2))
drawOverview()
$('.map').append(...groups.map(({ entry }) => entry))
$('main').append(...groups.map(({ section }) => section))
for (const tryOut of tryOuts) tryOut.fill({})
$('.missing').remove()
const nav = $('nav'), menu = $('#menu')
$('details', nav).open = nav.clientHeight > 0 && nav.scrollHeight <= nav.clientHeight // the operations come first
// --- The place: what begins in the upper fifth of the screen, be it what was chosen, or the last ---
const sections = all('main section, article')
function markPlace() {
  const top = section => section.getBoundingClientRect().top, line = innerHeight / 5
  const chosen = sections.find(section => section.matches(':target') && top(section) >= 0 && top(section) <= line)
  const seen = chosen ?? sections.findLast(section => top(section) <= line) ?? sections[0]
  const link = $(`[href="#${seen.id}"]`, nav), frame = link.offsetParent
  if (link.ariaCurrent) return
  $('[aria-current]', nav)?.removeAttribute('aria-current')
  link.ariaCurrent = 'true'
  if (frame) frame.scrollTop = link.offsetTop - frame.clientHeight / 2
  history.replaceState(null, '', seen === sections[0] ? '/' : link.hash)
}
addEventListener('hashchange', markPlace)
const observer = new IntersectionObserver(markPlace, { rootMargin: '-15% 0px -80%' })
addEventListener('load', () => { for (const section of sections) observer.observe(section) }) // the address comes first
addEventListener('resize', () => $('.menu').checkVisibility() || menu.hidePopover())
nav.onclick = ({ target }) => { if (target.closest('a')) menu.hidePopover() }
// --- What is chosen ---
function drawSettings() {
  const { key, hidesKey, scheme } = settings, input = $('#key')
  if (input.value.trim() !== key) input.value = key
  input.type = hidesKey ? 'password' : 'text'
  setText($('#hide'), hidesKey ? 'Show' : 'Hide')
  document.documentElement.style.colorScheme = scheme === 'System' ? '' : scheme.toLowerCase()
}
drawSettings()
for (const setting of ['key', 'hidesKey', 'scheme']) changes.addEventListener(setting, drawSettings)
drawChoices($('[data-setting=key]'), planOf)
drawChoices($('[data-setting=scheme]'))
if (!demoKeys.length) $('#key').placeholder = 'a key of your keys file'
$('#key').oninput = ({ target }) => choose('key', target.value.trim())
$('#hide').onclick = () => choose('hidesKey', !settings.hidesKey)
Object.assign($('.log'), { open: settings.showsLog, ontoggle: ({ target }) => choose('showsLog', target.open) })
// --- The keyboard: it sends from the form that has the focus, if it is in view, or else the operation marked ---
function formHere() {
  const focused = document.activeElement.closest('form'), { top, bottom } = focused?.getBoundingClientRect() ?? {}
  return bottom > 0 && top < innerHeight ? focused : $(`${$('[aria-current]', nav)?.hash ?? 'x'} > form:has(.send)`)
}
addEventListener('keydown', event => {
  if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && !event.repeat) formHere()?.requestSubmit()
  if (event.key === 'Escape') for (const { stop } of tryOuts) stop.abort()
})
