// Draws texts of the description, tables, and JSON.
import { el } from './dom.js'
import { rangeOf, resolve, typeOf } from './description.js'

export const inline = text => text.split(/`([^`]+)`/).map((part, i) => i % 2 ? el('code', {}, part) : part)

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

// What turns the direction of a text is shown as JSON escapes it, so that it turns none.
const turns = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g
const escapeTurn = letter => `\\u${letter.charCodeAt().toString(16).padStart(4, '0')}`
const tokens = /("(?:[^"\\]|\\.)*"|-?\d[\d.e+-]*|true|false|null)/i
const kindOf = (token, rest) =>
  token[0] !== '"' ? (/\d/.test(token) ? 'number' : 'word') : rest[0] === ':' ? 'name' : 'text'
const drawToken = (part, i, parts) => i % 2 ? el('span', { class: kindOf(part, parts[i + 1]) }, part) : part

// drawJSON gives each line an element, which hangs where it is too long for the screen.
export const drawJSON = value => el('pre', { class: 'json' },
  ...JSON.stringify(value, null, 2).replace(turns, escapeTurn).split('\n')
    .map(line => el('span', { class: 'line' }, ...line.split(tokens).map(drawToken))))
