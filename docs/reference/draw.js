// Draws elements, texts, tables and JSON. What comes from the server becomes text nodes: a pet may be named <img>.
import { rangeOf, resolve, typeOf } from './description.js'

export const $ = (selector, root = document) => root.querySelector(selector)
export const all = (selector, root = document) => [...root.querySelectorAll(selector)]
export const setText = (element, text) => { if (element.textContent !== text) element.textContent = text }
export const button = (text, onclick, kind = 'quiet') =>
  Object.assign(el('button', { type: 'button', class: kind }, text), { onclick })
export function el(name, attributes = {}, ...children) {
  const element = document.createElement(name)
  for (const [attribute, value] of Object.entries(attributes)) element.setAttribute(attribute, value)
  element.append(...children)
  return element
}

// fold keeps what is long out of the way on a small screen; the style sheet says which is.
export function fold(title, gist, ...content) {
  const isSmall = getComputedStyle(document.documentElement).getPropertyValue('--small-screen')
  const summary = el('summary', {}, el('h5', {}, title), el('small', {}, gist))
  return Object.assign(el('details', { class: 'fold' }, summary, ...content), { open: !isSmall })
}
let buttons = 0
// tellApart names each button after a heading, too, so that no two have one name.
export function tellApart(root, heading) {
  for (const button of all('button:not([aria-label])', root))
    button.setAttribute('aria-labelledby', `${button.id ||= `button-${++buttons}`} ${heading}`)
}

// copyButton works without a clipboard, too: over plain HTTP, except on localhost, a page has none.
export const copyButton = (name, source, textOf) => button(name, ({ target }) => {
  getSelection().selectAllChildren(source)
  const put = event => { event.preventDefault(); event.clipboardData.setData('text/plain', textOf()) }
  addEventListener('copy', put, { once: true })
  target.textContent = document.execCommand('copy') ? 'Copied' : 'Not copied'
  getSelection().removeAllRanges()
  setTimeout(() => { target.textContent = name }, 2000)
}, 'copy quiet')

const drawCode = text => el('code', text.length < 25 ? { class: 'short' } : {}, text) // which paper does not break
export const inline = text => text.split(/`([^`]+)`/).map((part, i) => i % 2 ? drawCode(part) : part)
// prose draws the Markdown of the description: paragraphs, tables and `code`.
export function prose(text = '') {
  return text.split('\n\n').filter(Boolean).map(block => {
    if (!block.startsWith('|')) return el('p', {}, ...inline(block))
    const [head, , ...rows] = block.split('\n').map(row => row.split('|').slice(1, -1).map(cell => cell.trim()))
    return table('plain', head, rows.map(cells => cells.map(inline)))
  })
}
export const drawRow = cells => el('tr', {}, ...cells.map(content => el('td', {}, ...content)))
export function table(kind, head, rows = []) {
  const top = el('tr', {}, ...head.map(name => el('th', { scope: 'col' }, ...inline(name))))
  return el('table', { class: kind }, el('thead', {}, top), el('tbody', {}, ...rows.map(drawRow)))
}

export function fieldTable(fields) {
  const rows = fields.map(({ name, in: place = '', required, schema, description = '' }) => {
    const { default: value } = resolve(schema), preset = value !== undefined && `default ${value}`
    const notes = [rangeOf(schema), preset].filter(Boolean).map(note => el('small', {}, note))
    const kind = el('small', {}, place, required ? el('b', { class: 'required' }, place && ', ', 'required') : '')
    return [[el('code', {}, name), kind], [typeOf(schema), ...notes], inline(description)]
  })
  return table('fields', ['Name', 'Type', 'Description'], rows)
}

export const drawStatus = (status, text = status) => el('b', { class: status < 400 ? 'good' : 'bad' }, text)
const turns = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g // a text around; escaped, they turn none
const escapeTurn = letter => `\\u${letter.charCodeAt().toString(16).padStart(4, '0')}`
const tokens = /("(?:[^"\\]|\\.)*"|-?\d[\d.e+-]*|true|false|null)/i
const kindOf = (token, rest) =>
  token[0] !== '"' ? (/\d/.test(token) ? 'number' : 'word') : rest[0] === ':' ? 'name' : 'text'
const drawToken = (part, i, parts) => i % 2 ? el('span', { class: kindOf(part, parts[i + 1]) }, part) : part
// drawJSON gives each line an element, which hangs where it is too long for the screen.
const drawLine = line => el('span', { class: 'line' }, ...line.split(tokens).map(drawToken))
export const drawJSON = value => el('pre', { class: 'json' },
  ...JSON.stringify(value, null, 2).replace(turns, escapeTurn).split('\n').map(drawLine))
