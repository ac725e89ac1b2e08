// What is chosen for the page. A key is kept for the session only.
import { button } from './draw.js'
import { demoKeys } from './limits.js'
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
  changes.dispatchEvent(new Event(setting))
}
export function drawChoices(group, setting, nameOf = value => value) {
  for (const value of choices[setting].filter(Boolean)) {
    const choice = button(nameOf(value), () => choose(setting, value), '')
    const mark = () => { choice.ariaPressed = value === settings[setting] }
    changes.addEventListener(setting, mark)
    mark()
    group.append(choice)
  }
}
