// Draws JSON and code in color, each in a box with a button that copies it.
import { button, el } from './draw.js'

const words = 'true|false|null|curl|package|import|from|func|if|return|const|await|async|print|nil'
const tokens = RegExp(`("(?:[^"\\\\\\n]|\\\\.)*"|'[^']*'|\`[^\`]*\`|-?\\b\\d[\\d.eE+-]*\\b|\\b(?:${words})\\b)`)
const kindOf = (token, rest) => /\w/.test(token[0]) || token[0] === '-' ? (/\d/.test(token) ? 'number' : 'word')
  : rest.startsWith(':') ? 'name' : 'text'
const color = text => text.split(tokens).map((part, i, parts) =>
  i % 2 ? el('span', { class: kindOf(part, parts[i + 1]) }, part) : part)
// drawLines gives each line an element, which hangs where it is too long for the screen.
const drawLines = text => text.split('\n').map(line => el('span', { class: 'line' }, ...color(line)))
const print = value => JSON.stringify(value, null, 2)
// drawJSON shows two elements of a long list, and the others when asked.
export function drawJSON(value) {
  const lines = drawLines(print(value)), pre = el('pre', { class: 'json', tabindex: '-1' }, ...lines)
  const count = `${value?.length - 2} more`, more = button(count, () => {
    pre.replaceChildren(...lines)
    pre.focus({ preventScroll: true })
  })
  if (Array.isArray(value) && value.length > 2 && lines.length > 20) {
    const start = drawLines(`${print(value.slice(0, 2)).slice(0, -2)},`)
    pre.replaceChildren(...start, el('span', { class: 'line', 'data-more': `… ${count}` }, '  ', more), lines.at(-1))
  }
  return box(pre, () => print(value))
}
// drawCode returns a box, and a function that puts other code into it.
export function drawCode(textOf) {
  const pre = el('pre', { class: 'code', tabindex: '0', role: 'group', 'aria-label': 'Code' })
  return [box(pre, textOf), code => pre.replaceChildren(...color(code))]
}
// box adds a button that copies, where the browser has a clipboard: on localhost, and over HTTPS.
function box(pre, textOf) {
  const copy = button('Copy', async () => {
    copy.textContent = await navigator.clipboard.writeText(textOf()).then(() => 'Copied', () => 'Not copied')
    setTimeout(() => { copy.textContent = 'Copy' }, 2000)
  }, 'copy quiet')
  return el('div', { class: 'box' }, navigator.clipboard ? copy : '', pre)
}
