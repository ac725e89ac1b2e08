// Draws JSON and code in color, each in a box with a button that copies it.
import { button, el } from './draw.js'

const words = 'true|false|null|curl|package|import|from|func|if|return|const|await|async|print|nil'
const tokens = RegExp(`("(?:[^"\\\\\\n]|\\\\.)*"|'[^']*'|\`[^\`]*\`|-?\\b\\d[\\d.eE+-]*\\b|\\b(?:${words})\\b)`)
function kindOf(token, rest) {
  if (/^["'\`]/.test(token)) return rest.startsWith(':') ? 'name' : 'text'
  return /\d/.test(token) ? 'number' : 'word'
}
const color = text => text.split(tokens).map((part, i, parts) =>
  i % 2 ? el('span', { class: kindOf(part, parts[i + 1]) }, part) : part)

const turns = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g // a text around; escaped, they turn none
const escapeTurn = letter => `\\u${letter.charCodeAt().toString(16).padStart(4, '0')}`
const print = value => JSON.stringify(value, null, 2).replace(turns, escapeTurn)
// drawLines gives each line an element, which hangs where it is too long for the screen.
const drawLines = text => text.split('\n').map(line => el('span', { class: 'line' }, ...color(line)))

// drawJSON shows two elements of a long list, and the others when asked.
export function drawJSON(value) {
  const text = print(value), pre = el('pre', { class: 'json', tabindex: '-1' })
  const rest = value?.length - 2
  if (!Array.isArray(value) || rest < 1 || text.split('\n').length < 20) pre.append(...drawLines(text))
  else {
    const more = button(`${rest} more`, () => {
      pre.replaceChildren(...drawLines(text))
      pre.focus({ preventScroll: true })
    }, 'more quiet')
    const start = print(value.slice(0, 2)).slice(0, -2)
    pre.append(...drawLines(`${start},`), el('span', { class: 'line' }, '  ', more), ...drawLines(']'))
  }
  return box(pre, () => JSON.stringify(value, null, 2))
}

// drawCode returns a box, and a function that puts other code into it.
export function drawCode(label, textOf) {
  const pre = el('pre', { class: 'code', tabindex: '0', role: 'group', 'aria-label': label })
  return [box(pre, textOf), code => pre.replaceChildren(...color(code))]
}

// box copies without a clipboard, too: over plain HTTP, except on localhost, a page has none.
function box(pre, textOf) {
  const copy = button('Copy', () => {
    const put = event => {
      event.preventDefault()
      event.clipboardData.setData('text/plain', textOf())
    }
    getSelection().selectAllChildren(pre)
    addEventListener('copy', put, { once: true })
    copy.textContent = document.execCommand('copy') ? 'Copied' : 'Not copied'
    getSelection().removeAllRanges()
    setTimeout(() => { copy.textContent = 'Copy' }, 2000)
  }, 'copy quiet')
  return el('div', { class: 'box' }, pre, copy)
}
