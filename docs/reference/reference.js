// Draws the page, and listens to what concerns all of it: the key, the scheme, the keyboard.
import { api } from './description.js'
import { $, setText } from './draw.js'
import { demoKeys, planOf } from './keys.js'
import './meter.js'
import { drawGroup } from './operations.js'
import { drawOverview } from './overview.js'
import { panels } from './panel.js'
import { placeNow, watchPlace } from './place.js'
import { changes, choose, drawChoices, settings } from './settings.js'

const overview = drawOverview(), groups = api.tags.filter(tag => !tag['x-parent']).map(tag => drawGroup(tag, 2))
$('nav ul').append(overview, ...groups.map(({ entry }) => entry))
$('main').append(...groups.map(({ section }) => section))
$('.missing').remove()
watchPlace()
const menu = $('#menu')
$('nav').onclick = ({ target }) => { if (target.closest('a')) menu.hidePopover() }
addEventListener('resize', () => $('.menu').checkVisibility() || menu.hidePopover())

// --- What is chosen ---
function drawSettings() {
  const { key, hidesKey, scheme } = settings, input = $('#key'), other = scheme === 'dark' ? 'light' : 'dark'
  if (input.value.trim() !== key) input.value = key
  input.type = hidesKey ? 'password' : 'text'
  input.ariaInvalid = false
  setText($('#hide'), hidesKey ? 'Show' : 'Hide')
  document.documentElement.style.colorScheme = scheme
  Object.assign($('.scheme'), { ariaLabel: `Use ${other} colors`, title: `Use ${other} colors` })
  $('.scheme').onclick = () => choose('scheme', other)
}
drawSettings()
for (const setting of ['key', 'hidesKey', 'scheme']) changes.addEventListener(setting, drawSettings)
drawChoices($('[data-setting=key]'), planOf)
if (!demoKeys.length) $('#key').placeholder = 'a key of your keys file'
$('#key').oninput = ({ target }) => choose('key', target.value.trim())
$('#hide').hidden = demoKeys.length > 0 // public keys need not be hidden
$('#hide').onclick = () => choose('hidesKey', !settings.hidesKey)
Object.assign($('.log'), { open: settings.showsLog, ontoggle: ({ target }) => choose('showsLog', target.open) })

// --- The keyboard: it sends from the form that has the focus, or else from that of the operation marked ---
addEventListener('keydown', event => {
  const form = document.activeElement.closest('form') ?? $('form', placeNow().closest('article') ?? undefined)
  if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && !event.repeat) form?.requestSubmit()
  if (event.key === 'Escape') for (const { stop } of panels) stop.abort()
})
