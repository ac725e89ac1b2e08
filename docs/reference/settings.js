// What is chosen for the page, and kept by the browser: a key for the session only.
import demoKeys from '/docs/keys.json' with { type: 'json' } // none if the server has a keys file
import { button } from './draw.js'
import { samples } from './samples.js'
export { demoKeys }

// The browser keeps things under names of the page's own. It may forbid that; the page then works without.
export function recall(storage, name) {
  try { return JSON.parse(globalThis[storage].getItem(`petstore.${name}`)) } catch { return null }
}
export function remember(storage, name, value) {
  try { globalThis[storage].setItem(`petstore.${name}`, JSON.stringify(value)) } catch {}
}

const choices = { // the first is the default; a key may also be any other text
  key: [...demoKeys.map(({ key }) => key), ''], language: Object.keys(samples),
  scheme: ['', 'light', 'dark'],
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
