// Draws the page, and listens to what concerns all of it: the key, the scheme, the keyboard.
import { api } from './description.js'
import { $ } from './draw.js'
import { demoKeys, planOf } from './limits.js'
import './meter.js'
import { drawGroup } from './operations.js'
import { drawOverview } from './overview.js'
import { panels } from './panel.js'
import { formHere, watchPlace } from './place.js'
import { changes, choose, drawChoices, settings } from './settings.js'

const overview = drawOverview(), groups = api.tags.filter(tag => !tag['x-parent']).map(tag => drawGroup(tag, 2))
$('nav ul').append(overview, ...groups.map(({ entry }) => entry))
$('main').append(...groups.map(({ section }) => section))
$('.missing').remove()
watchPlace()

const menu = $('#menu'), input = $('#key'), scheme = $('.scheme')
$('nav').onclick = ({ target }) => { if (target.closest('a')) menu.hidePopover() }
addEventListener('resize', () => $('.menu').checkVisibility() || menu.hidePopover())
Object.assign($('.log'), { open: settings.showsLog, ontoggle: ({ target }) => choose('showsLog', target.open) })
drawChoices($('.key .choices'), 'key', planOf)
if (!demoKeys.length) Object.assign(input, { type: 'password', placeholder: 'your key' })
input.oninput = () => choose('key', input.value.trim())
scheme.onclick = () => choose('scheme', settings.scheme === 'dark' ? 'light' : 'dark')
function drawSettings() {
  input.ariaInvalid = false
  if (input.value.trim() !== settings.key) input.value = settings.key
  document.documentElement.style.colorScheme = settings.scheme
  scheme.ariaLabel = scheme.title = `Use ${settings.scheme === 'dark' ? 'light' : 'dark'} colors`
}
for (const setting of ['key', 'scheme']) changes.addEventListener(setting, drawSettings)
drawSettings()

addEventListener('keydown', event => {
  if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && !event.repeat) formHere()?.requestSubmit()
  if (event.key === 'Escape') for (const { stop } of panels) stop.abort()
})
