// The browser keeps things under names of the page's own. It may forbid that; the page then works without.
export function recall(storage, name) {
  try { return JSON.parse(globalThis[storage].getItem(`petstore.${name}`)) } catch { return null }
}
export function remember(storage, name, value) {
  try { globalThis[storage].setItem(`petstore.${name}`, JSON.stringify(value)) } catch {}
}
