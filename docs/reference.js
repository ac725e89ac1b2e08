// Draws the page, and listens to what concerns all of it.
import { $, setText } from './dom.js'
import { api } from './description.js'
import './log.js'
import './meter.js'
import { drawGroup } from './operations.js'
import { drawOverview } from './overview.js'
import { followPlace, formHere } from './place.js'
import { changes, choose, demoKeys, drawChoices, planOf, settings } from './settings.js'
import { tryOuts } from './tryout.js'

const groups = api.tags.filter(tag => !tag['x-parent']).map(tag => drawGroup(tag, 2))
drawOverview()
$('.map').append(...groups.map(({ entry }) => entry))
$('main').append(...groups.map(({ section }) => section))
for (const tryOut of tryOuts) tryOut.fill({})
$('.missing').remove()
followPlace()

const nav = $('nav'), key = $('#key')
$('details', nav).open = nav.scrollHeight <= nav.clientHeight // the operations come first

function drawKey() {
  if (key.value.trim() !== settings.key) key.value = settings.key
  key.type = settings.isKeyHidden ? 'password' : 'text'
  setText($('#hide'), settings.isKeyHidden ? 'Show' : 'Hide')
}

drawKey()
drawChoices($('[data-setting=key]'), planOf)
if (!demoKeys.length) key.placeholder = 'a key of your keys file'
key.oninput = () => choose('key', key.value.trim())
$('#hide').onclick = () => choose('isKeyHidden', !settings.isKeyHidden)
for (const setting of ['key', 'isKeyHidden']) changes.addEventListener(setting, drawKey)

const drawScheme = () => {
  document.documentElement.style.colorScheme = settings.scheme === 'System' ? '' : settings.scheme.toLowerCase()
}
drawScheme()
drawChoices($('[data-setting=scheme]'))
changes.addEventListener('scheme', drawScheme)

$('.log').open = settings.showsLog
$('.log').ontoggle = ({ target }) => choose('showsLog', target.open)

addEventListener('keydown', event => {
  if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && !event.repeat) formHere()?.requestSubmit()
  if (event.key === 'Escape') for (const { stop } of tryOuts) stop?.abort()
})
