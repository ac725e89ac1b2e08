// Draws JSON and code in color, each in a box with a button that copies it.
import { button, el } from './draw.js'
import { samples } from './samples.js'
import { changes, demoKeys, drawChoices, settings } from './settings.js'

const words = 'true|false|null|curl|package|import|from|func|if|return|const|await|async|print|nil'
const tokens = RegExp(`("(?:[^"\\\\\\n]|\\\\.)*"|'[^']*'|\`[^\`]*\`|-?\\b\\d[\\d.eE+-]*\\b|\\b(?:${words})\\b)`)
const kindOf = (token, rest) => /\w/.test(token[0]) || token[0] === '-' ? (/\d/.test(token) ? 'number' : 'word')
  : rest.startsWith(':') ? 'name' : 'text'
const color = text => text.split(tokens).map((part, i, parts) =>
  i % 2 ? el('span', { class: kindOf(part, parts[i + 1]) }, part) : part)

// drawJSON gives each record of a list one line. A line hangs where it is too long for the screen.
export function drawJSON(value) {
  const printField = ([name, content]) => `"${name}":${JSON.stringify(content)}`
  const printRecord = record => `{${Object.entries(record).map(printField).join(', ')}}`
  const text = Array.isArray(value) && value.length
    ? `[\n  ${value.map(printRecord).join(',\n  ')}\n]` : JSON.stringify(value, null, 2)
  return box(el('pre', {}, ...text.split('\n').map(line => el('span', { class: 'line' }, ...color(line)))), () => text)
}
// drawSample returns the code of a request in the chosen language, and a function that draws it anew. A key of a keys
// file is not shown, but copied.
export function drawSample(requestWith) {
  const codeWith = key => samples[settings.language](requestWith(key))
  const pre = el('pre', { class: 'code', tabindex: '0', role: 'group', 'aria-label': 'Code' })
  const languages = el('div', { class: 'choices', role: 'group', 'aria-label': 'Language' })
  const shownKey = () => demoKeys.length ? settings.key : '•'.repeat(settings.key.length)
  const draw = () => pre.replaceChildren(...color(codeWith(shownKey())))
  changes.addEventListener('language', draw)
  drawChoices(languages, 'language')
  return { parts: [languages, box(pre, () => codeWith(settings.key))], draw }
}
// box adds a button that copies, where the browser has a clipboard: on localhost, and over HTTPS.
function box(pre, textOf) {
  const copy = button('Copy', async () => {
    copy.textContent = await navigator.clipboard.writeText(textOf()).then(() => 'Copied', () => 'Not copied')
    setTimeout(() => { copy.textContent = 'Copy' }, 2000)
  }, 'copy quiet')
  return el('div', { class: 'box' }, navigator.clipboard ? copy : '', pre)
}
