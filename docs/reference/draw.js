// Draws elements and prose. What comes from the server becomes text nodes: a pet may be named <img>.
export const $ = (selector, root = document) => root.querySelector(selector)
export const all = (selector, root = document) => [...root.querySelectorAll(selector)]
export const setText = (element, text) => { if (element.textContent !== text) element.textContent = text }
export function el(name, attributes = {}, ...children) {
  const element = document.createElement(name)
  for (const [attribute, value] of Object.entries(attributes)) element.setAttribute(attribute, value)
  element.append(...children)
  return element
}
export const button = (text, onclick, kind = 'quiet') =>
  Object.assign(el('button', { type: 'button', class: kind }, text), { onclick })
export const link = (id, ...content) => el('a', { href: `#${id}` }, ...content)
export const drawMethod = method => el('b', { class: `method ${method}` }, method)
export const drawStatus = (status, text = status) => el('b', { class: status < 400 ? 'good' : 'bad' }, text)

// fold draws a part of an operation, which is folded on a phone.
export const fold = (title, ...content) => innerWidth < 640
  ? el('details', { class: 'fold' }, el('summary', {}, title), ...content)
  : el('div', { class: 'fold' }, el('h5', {}, title), ...content)

const drawCode = text => el('code', text.length < 20 ? { class: 'short' } : {}, text) // which no line breaks
export const inline = text => text.split(/`([^`]+)`/).map((part, i) => i % 2 ? drawCode(part) : part)
// prose draws paragraphs with `code`.
export const prose = (text = '') => text.split('\n\n').filter(Boolean).map(part => el('p', {}, ...inline(part)))
// drawTable takes the contents of each cell.
export function drawTable(head, rows) {
  const drawRow = kind => cells => el('tr', {}, ...cells.map(content => el(kind, {}, ...content)))
  return el('table', {}, el('thead', {}, drawRow('th')(head.map(title => [title]))), el('tbody', {}, ...rows.map(drawRow('td'))))
}
