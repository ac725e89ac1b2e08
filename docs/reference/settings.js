// What is chosen for the page, and kept by the browser: the key and the stage for the session only.
// @ts-ignore: the server writes this file
import config from './keys.json' with { type: 'json' }
export const { minute, keys: demoKeys } = config
export const base = new URL('.', document.baseURI).href.slice(0, -1) // the API is where the page is
export const period = minute === 60 ? 'minute' : `${minute}\xa0s`
export const demoOf = key => demoKeys.find(demo => demo.key === key)
export const canBeSent = key => !/[^!-~]/.test(key)
// The browser keeps things under names of the page's own. It may forbid that; the page then works without.
export function recall(storage, name) {
  try { return JSON.parse(globalThis[storage].getItem(`petstore.${name}`)) } catch { return null }
}
export function remember(storage, name, value) {
  try { globalThis[storage].setItem(`petstore.${name}`, JSON.stringify(value)) } catch {}
}
export function openChannel(name) {
  try { return new BroadcastChannel(`petstore.${name}`) } catch { return null }
}
const storageOf = setting => ['key', 'stage'].includes(setting) ? 'sessionStorage' : 'localStorage'
export const settings = { key: demoKeys[0]?.key ?? '', stage: false, language: 'curl', scheme: '' }
export const changes = new EventTarget() // each change is an event with the name of its setting
for (const name in settings) settings[name] = recall(storageOf(name), name) ?? settings[name]
if (/^demo-/.test(settings.key) && !demoOf(settings.key)) settings.key = '' // the server has a keys file now
/** @param {keyof typeof settings} setting @param {any} value */
export function choose(setting, value) {
  Object.assign(settings, { [setting]: value })
  remember(storageOf(setting), setting, value)
  changes.dispatchEvent(new Event(setting))
}
