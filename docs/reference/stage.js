// The stage: one panel in full width, for a projector. The address names its operation.
import { $, el, react, setText } from './draw.js'
import './operations.js' // which fills the panels
import { panels } from './panel.js'
import { recent } from './recent.js'
import { changes, choose, settings } from './settings.js'
const root = document.documentElement, button = $('.stage-button')
const choice = el('select', { class: 'choice', form: '', 'aria-label': 'Operation' },
  ...[...panels].filter(([, { operation }]) => operation.canSend).map(([value, { operation }]) =>
    el('option', { value }, operation.summary + (operation.deprecated ? ' (deprecated)' : ''))))
const stage = el('main', { id: 'stage' }), place = document.createComment('the panel that is on stage')
const idsOnStage = [...choice.options].map(({ value }) => value)
function drawStage() {
  place.replaceWith(...stage.childNodes) // back to where it was
  const isOn = settings.stage, [, hash] = location.hash.split('#')
  const id = idsOnStage.includes(hash) ? hash : choice.value
  root.classList.toggle('stage', isOn)
  button.ariaPressed = String(isOn)
  setText(button, isOn ? 'Leave stage' : 'Stage')
  recent.popover = isOn ? null : 'auto'
  choice.remove()
  if (!isOn) return
  const { form, head } = panels.get(id)
  history.replaceState(null, '', `#${id}`)
  choice.value = id
  form.replaceWith(place)
  head.prepend(choice)
  stage.append(form)
}
function toggle() {
  choose('stage', !settings.stage)
  const panel = panels.get(location.hash.slice(1))
  if (!settings.stage) document.getElementById(location.hash.slice(1))?.scrollIntoView()
  panel?.sendButton.send.focus({ preventScroll: true })
}
$('main').after(stage)
button.onclick = toggle
choice.oninput = event => {
  event.stopPropagation()
  location.hash = choice.value
}
addEventListener('keydown', event => {
  const isTyping = /** @type {Element} */ (event.target).closest('input, textarea, select')
  if (event.key.toLowerCase() !== 's' || event.ctrlKey || event.metaKey || event.altKey || isTyping) return
  event.preventDefault()
  toggle()
})
react(drawStage, [changes, 'stage'], [window, 'hashchange'])
