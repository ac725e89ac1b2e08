// What is chosen for the page. A key is kept for the session only.
import { all, button } from './draw.js'
import { demoKeys } from './keys.js'
import { samples } from './samples.js'
import { recall, remember } from './storage.js'

const keys = demoKeys.map(({ key }) => key), noYes = [false, true]
const isDark = matchMedia('(prefers-color-scheme: dark)').matches
const choices = { // the first is the default; a key may also be any other text
  key: [...keys, ''], hidesKey: keys.length ? noYes : [true, false], language: Object.keys(samples),
  scheme: isDark ? ['dark', 'light'] : ['light', 'dark'], showsHeaders: noYes, showsLog: noYes,
}
const storageOf = setting => /key/i.test(setting) ? 'sessionStorage' : 'localStorage'
export const settings = {}, changes = new EventTarget() // each change is an event with the name of its setting
for (const [setting, known] of Object.entries(choices)) {
  const value = recall(storageOf(setting), setting), isOfDemo = /^demo-/.test(value)
  const fits = known.includes(value) || (setting === 'key' && !isOfDemo) // not of a server that was here before
  settings[setting] = fits && typeof value === typeof known[0] ? value : known[0]
}

export function choose(setting, value) {
  settings[setting] = value
  remember(storageOf(setting), setting, value)
  for (const group of all(`[data-setting=${setting}]`)) markChoice(group)
  changes.dispatchEvent(new Event(setting))
}

export function drawChoices(group, nameOf = value => value) {
  const { setting } = group.dataset, draw = value => button(nameOf(value), () => choose(setting, value), '')
  group.prepend(...choices[setting].filter(Boolean).map(value => Object.assign(draw(value), { value })))
  markChoice(group)
}
function markChoice(group) {
  for (const choice of all('[value]', group)) choice.ariaPressed = choice.value === settings[group.dataset.setting]
}
