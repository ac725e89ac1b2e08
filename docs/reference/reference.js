// Draws the page, and listens to what concerns all of it: the key, the scheme, the place, the keyboard.
import { api } from './description.js'
import { $, all } from './draw.js'
import { planOf } from './limits.js'
import './meter.js'
import { drawGroup } from './operations.js'
import { drawOverview } from './overview.js'
import { changes, choose, demoKeys, drawChoices, settings } from './settings.js'

const overview = drawOverview(), groups = api.tags.filter(tag => !tag['x-parent']).map(tag => drawGroup(tag, 2))
$('nav ul').append(overview, ...groups.map(({ entry }) => entry))
$('main').append(...groups.map(({ section }) => section))
$('.missing').remove()

const menu = $('#menu'), input = $('#key')
$('nav').onclick = ({ target }) => { if (target.closest('a')) menu.hidePopover() }
addEventListener('resize', () => $('.menu').checkVisibility() || menu.hidePopover())
drawChoices($('.key .choices'), 'key', planOf)
if (!demoKeys.length) Object.assign(input, { type: 'password', placeholder: 'your key' })
input.oninput = () => choose('key', input.value.trim())
// The colors are those of the system, or the others.
const system = matchMedia('(prefers-color-scheme: dark)')
$('.scheme').onclick = () => {
  const other = system.matches ? 'light' : 'dark'
  choose('scheme', settings.scheme === other ? '' : other)
}
function drawSettings() {
  input.ariaInvalid = false
  if (input.value.trim() !== settings.key) input.value = settings.key
  document.documentElement.style.colorScheme = settings.scheme
}
for (const setting of ['key', 'scheme']) changes.addEventListener(setting, drawSettings)
drawSettings()

// The place is the last section that begins in the upper fifth of the screen, or the one that was asked for.
const sections = all('main :is(section, article):not(#first)'), topOf = section => section.getBoundingClientRect().top
function markPlace() {
  const begun = sections.filter(section => topOf(section) <= innerHeight / 5)
  const asked = begun.find(section => section.matches(':target') && topOf(section) >= 0)
  const place = asked ?? begun.at(-1) ?? sections[0]
  const nav = $('nav'), link = $(`[href="#${place.id}"]`, nav), { offsetTop, offsetHeight } = link
  if (link.ariaCurrent) return
  $('nav [aria-current]')?.removeAttribute('aria-current')
  link.ariaCurrent = 'true'
  nav.scrollTop = Math.min(offsetTop, Math.max(nav.scrollTop, offsetTop + offsetHeight - nav.clientHeight))
  history.replaceState(null, '', place === sections[0] ? '/' : link.hash)
}
for (const event of ['load', 'hashchange', 'scroll']) addEventListener(event, markPlace)

addEventListener('keydown', event => {
  if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey) || event.repeat) return
  document.activeElement.closest('form')?.requestSubmit()
})
