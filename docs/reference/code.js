// Draws JSON and code in color.
import { button, el, printNumber } from './draw.js'
import { samples } from './samples.js'
import { changes, demoOf, drawLanguages, settings } from './settings.js'

const tokens = /("(?:[^"\\\n]|\\.)*"|'[^']*'|`[^`]*`|-?\b\d[\d.eE+-]*\b)/
const kindOf = (token, rest) => /\d/.test(token[0]) || token[0] === '-' ? 'number' : rest.startsWith(':') ? '' : 'text'
const color = text => text.split(tokens).map((part, i, parts) =>
  i % 2 ? el('span', { class: kindOf(part, parts[i + 1]) }, part) : part)
const drawLines = text => text.split('\n').map(line => el('span', { class: 'line' }, ...color(line)))

export function drawCopy(textOf) { // browsers have a clipboard on localhost, and over HTTPS
  const copy = button('Copy', async () => {
    copy.textContent = await navigator.clipboard.writeText(textOf()).then(() => 'Copied', () => 'Not copied')
    setTimeout(() => { copy.textContent = 'Copy' }, 2000)
  }, 'copy link')
  copy.hidden = !navigator.clipboard
  return copy
}

const printPairs = record => Object.entries(record).map(([name, value]) => `"${name}": ${JSON.stringify(value)}`)
const isList = value => Array.isArray(value) && value.length > 0
// printJSON gives each record of a list one line, and drawJSON breaks it between fields where it is too long.
export const printJSON = value => isList(value)
  ? `[\n  ${value.map(record => `{${printPairs(record).join(', ')}}`).join(',\n  ')}\n]` : JSON.stringify(value, null, 2)
const drawRecord = (record, i, { length }) => el('span', { class: 'line' }, '  {', ...printPairs(record).flatMap((pair, at, { length: pairs }) =>
  [at ? ' ' : '', el('span', { class: 'pair' }, ...color(pair), at < pairs - 1 ? ',' : i < length - 1 ? '},' : '}')]))
export function drawJSON(value) {
  const pre = el('pre'), draw = list => pre.replaceChildren('[', ...list.map(drawRecord), ']')
  if (!isList(value)) return [el('pre', {}, ...drawLines(printJSON(value)))]
  draw(value.slice(0, 20))
  const more = button(`Show all ${printNumber(value.length)}`, () => { draw(value); more.remove() }, 'more link')
  return value.length > 20 ? [pre, more] : [pre]
}

// drawSample returns the code of a request in the chosen language, and a function that draws it anew. A key of a keys
// file is copied, but not shown.
export function drawSample(requestFor) {
  const codeFor = key => samples[settings.language](requestFor(key || 'KEY'))
  const shorten = code => code.replace(/x{99,}/g, letters => `${letters.slice(0, 20)}… ${printNumber(letters.length)} letters`)
  const pre = el('pre', { class: 'code' })
  const draw = () => pre.replaceChildren(...drawLines(shorten(codeFor(
    demoOf(settings.key) ? settings.key : '•'.repeat(settings.key.length)))))
  const languages = el('div', { class: 'tabs', role: 'group', 'aria-label': 'Language' }, ...drawLanguages())
  languages.append(drawCopy(() => codeFor(settings.key)))
  changes.addEventListener('language', draw)
  return { parts: [languages, pre], draw }
}
