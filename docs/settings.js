// What is chosen for the page. A key is kept for the session only.
import demoKeys from '/docs/keys.json' with { type: 'json' }
import { $, all, button } from './dom.js'
import { samples } from './samples.js'
import { recall, remember } from './storage.js'

export { demoKeys }
const hasDemoKeys = demoKeys.length > 0
const choices = { // the first is the default; a key may also be any text
  key: hasDemoKeys ? demoKeys.map(({ key }) => key) : [''], isKeyHidden: [!hasDemoKeys, hasDemoKeys],
  language: Object.keys(samples), scheme: ['System', 'Light', 'Dark'], showsHeaders: [false, true], showsLog: [false, true],
}
const storageOf = setting => /key/i.test(setting) ? 'sessionStorage' : 'localStorage'
const isChoice = (setting, value) => choices[setting].includes(value) || (setting === 'key' && typeof value === 'string')
export const settings = {}
for (const setting in choices) {
  const value = recall(storageOf(setting), setting)
  settings[setting] = isChoice(setting, value) ? value : choices[setting][0]
}

export const changes = new EventTarget() // an event of the setting's name for each change
export function choose(setting, value) {
  settings[setting] = value
  remember(storageOf(setting), setting, value)
  for (const group of all(`[data-setting=${setting}]`)) markChoice(group)
  changes.dispatchEvent(new Event(setting))
}

const capitalize = text => text[0].toUpperCase() + text.slice(1)
export const planOf = key => capitalize(demoKeys.find(demo => demo.key === key)?.plan ?? (key ? 'your key' : 'no key'))

function markChoice(group) {
  const chosen = settings[group.dataset.setting]
  for (const choice of all('[value]', group)) choice.ariaPressed = choice.value === chosen
}

// drawChoices gives a group a button for each choice.
export function drawChoices(group, nameOf = value => value) {
  const { setting } = group.dataset, values = setting === 'key' ? demoKeys.map(({ key }) => key) : choices[setting]
  group.prepend(...values.map(value =>
    Object.assign(button(nameOf(value), () => choose(setting, value)), { value })))
  markChoice(group)
  return group
}
