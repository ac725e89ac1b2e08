// Draws elements and prose. What comes from the server becomes text nodes: a pet may be named <img>.
/** @returns {any} */
export const $ = (selector, root = /** @type {ParentNode} */ (document)) => root.querySelector(selector)
/** @returns {any[]} */
export const all = (selector, root = /** @type {ParentNode} */ (document)) => [...root.querySelectorAll(selector)]
export const setText = (element, text) => { if (element.textContent !== text) element.textContent = text }
/** @param {string} name @param {Record<string, any>} attributes @param {(Node | string)[]} children
 * @returns {any} an element */
export function el(name, attributes = {}, ...children) {
  const element = document.createElement(name)
  for (const [attribute, value] of Object.entries(attributes)) element.setAttribute(attribute, value)
  element.append(...children)
  return element
}
export const button = (text, onclick, kind = 'link') =>
  Object.assign(el('button', { type: 'button', class: kind }, text), { onclick })
export const link = (id, ...content) => el('a', { href: `#${id}` }, ...content)
export const drawMethod = method => el('b', { class: `method ${method}` }, method)
export const drawPill = (text, kind) => el('b', { class: `pill ${kind}` }, text)
export const drawStatus = status => drawPill(status, status < 400 ? 'good' : 'bad')
export const drawTabs = (label, names, choose) => el('div', { class: 'tabs', role: 'group', 'aria-label': label },
  ...names.map(name => button(name, () => choose(name), 'tab')))
export const markTab = (tabs, chosen) =>
  all('.tab', tabs).forEach(tab => { tab.ariaPressed = String(tab.textContent === chosen) })
export const announce = text => { $('[role=status]').textContent = text } // also the same again
// inline and prose draw what the description has of Markdown: paragraphs and `code`.
export const inline = text => text.split(/`([^`]+)`/).map((part, i) => i % 2 ? el('code', {}, part) : part)
export const prose = (text = '') => text.split('\n\n').filter(Boolean).map(p => el('p', {}, ...inline(p)))
/** react does a thing now, and again after each event of the sources.
 * @param {() => void} act @param {[EventTarget, string][]} sources */
export function react(act, ...sources) {
  for (const [source, event] of sources) source.addEventListener(event, act)
  act()
}
export const capitalize = text => text[0].toUpperCase() + text.slice(1)
export const printNumber = number => number.toLocaleString('en')
export function printDuration(ms) {
  const seconds = Math.max(1, Math.ceil(ms / 1000)), rest = String(seconds % 60).padStart(2, '0')
  if (seconds >= 3600) return `${Math.ceil(seconds / 3600)}\xa0h`
  return seconds < 100 ? `${seconds}\xa0s` : `${Math.floor(seconds / 60)}:${rest}`
}
