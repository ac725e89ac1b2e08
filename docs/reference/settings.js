// What is chosen for the page, and kept by the browser: a key for the session only.
import config from '/docs/keys.json' with { type: 'json' }
export const { minute, keys: demoKeys } = config
export const period = minute === 60 ? 'minute' : `${minute}\xa0s`
export const demoOf = key => demoKeys.find(demo => demo.key === key)
// The browser keeps things under names of the page's own. It may forbid that; the page then works without.
export function recall(storage, name) {
  try { return JSON.parse(globalThis[storage].getItem(`petstore.${name}`)) } catch { return null }
}
export function remember(storage, name, value) {
  try { globalThis[storage].setItem(`petstore.${name}`, JSON.stringify(value)) } catch {}
}
const storages = { key: 'sessionStorage', language: 'localStorage', scheme: 'localStorage' }
export const settings = { key: demoKeys[0]?.key ?? '', language: 'curl', scheme: '' }
export const changes = new EventTarget() // each change is an event with the name of its setting
for (const setting in storages) settings[setting] = recall(storages[setting], setting) ?? settings[setting]
if (/^demo-/.test(settings.key) && !demoOf(settings.key)) settings.key = '' // the server has a keys file now
export function choose(setting, value) {
  settings[setting] = value
  remember(storages[setting], setting, value)
  changes.dispatchEvent(new Event(setting))
}
