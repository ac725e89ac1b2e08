// The stage: one panel in full width, for a projector. The address names its operation. A small window has none.
import { $, el, react, setText } from './draw.js'
import './operations.js' // which fills the panels
import { panels } from './panel.js'
import { recent } from './recent.js'
import { changes, choose, settings } from './settings.js'
const button = $('.stage-button'), stage = el('main', { id: 'stage' }, el('h1', { class: 'unseen' }, 'Stage'))
const place = document.createComment('on stage'), large = matchMedia('(width >= 60rem) and (height >= 34rem)')
const shown = [...panels].filter(([, { operation }]) => operation.canSend)
const choice = el('select', { form: '', 'aria-label': 'Operation' }, ...shown.map(([value, { operation }]) =>
  el('option', { value }, operation.summary + (operation.deprecated ? ' (deprecated)' : ''))))
const idInAddress = () => location.hash.slice(1)
function drawStage() {
  const isOn = settings.stage && large.matches, last = $('form', stage)
  if (last) place.replaceWith(last) // back to where it was
  choice.remove()
  document.documentElement.classList.toggle('stage', isOn)
  button.ariaPressed = String(isOn)
  setText(button, isOn ? 'Leave stage' : 'Stage')
  recent.popover = isOn ? null : 'auto'
  if (!isOn) return last && document.getElementById(idInAddress())?.scrollIntoView()
  if (shown.some(([id]) => id === idInAddress())) choice.value = idInAddress()
  history.replaceState(null, '', `#${choice.value}`)
  const { form, head } = panels.get(choice.value)
  form.replaceWith(place)
  head.prepend(choice)
  stage.append(form)
}
function toggle() {
  choose('stage', !settings.stage)
  panels.get(idInAddress())?.sendButton.focus()
}
$('main').after(stage)
button.onclick = toggle
choice.oninput = event => {
  event.stopPropagation()
  location.hash = choice.value
}
addEventListener('keydown', event => {
  const isTyping = /** @type {Element} */ (event.target).closest('input, textarea, select')
  if (event.key.toLowerCase() !== 's' || event.ctrlKey || event.metaKey || event.altKey || isTyping || !large.matches) return
  event.preventDefault()
  toggle()
})
large.onchange = () => changes.dispatchEvent(new Event('stage'))
react(drawStage, [changes, 'stage'], [window, 'hashchange'])
