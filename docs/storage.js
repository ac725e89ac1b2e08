// What the browser keeps for this page, under names of its own. It may forbid that; the page then works without.
const own = name => `petstore.${name}`
export function recall(storage, name) {
  try { return JSON.parse(globalThis[storage].getItem(own(name))) } catch { return null }
}
export function remember(storage, name, value) {
  try { globalThis[storage].setItem(own(name), JSON.stringify(value)) } catch {}
}
