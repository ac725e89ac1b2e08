// What is chosen for the page. A key is kept for the session only.
import { all, button } from './draw.js'
import { demoKeys } from './keys.js'
import { samples } from './samples.js'
import { recall, remember } from './storage.js'

const choices = { // the first is the default; a key may also be any other text
  key: [...demoKeys.map(({ key }) => key), ''], language: Object.keys(samples),
  scheme: matchMedia('(prefers-color-scheme: dark)').matches ? ['dark', 'light'] : ['light', 'dark'],
  showsHeaders: [false, true], showsLog: [false, true],
}
const storageOf = setting => setting === 'key' ? 'sessionStorage' : 'localStorage'
export const settings = {}, changes = new EventTarget() // each change is an event with the name of its setting
for (const [setting, known] of Object.entries(choices)) {
  const value = recall(storageOf(setting), setting), isOwnKey = setting === 'key' && value && !/^demo-/.test(value)
  settings[setting] = known.includes(value) || isOwnKey ? value : known[0]
}

export function choose(setting, value) {
  settings[setting] = value
  remember(storageOf(setting), setting, value)
  for (const group of all(`[data-setting=${setting}]`)) markChoice(group)
  changes.dispatchEvent(new Event(setting))
}
export function drawChoices(group, nameOf = value => value) {
  const { setting } = group.dataset, draw = value => button(nameOf(value), () => choose(setting, value), '')
  group.append(...choices[setting].filter(Boolean).map(value => Object.assign(draw(value), { value })))
  markChoice(group)
}
function markChoice({ children, dataset: { setting } }) {
  for (const choice of children) choice.ariaPressed = choice.value === settings[setting]
}
