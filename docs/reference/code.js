// Draws JSON and code in color.
import { button, el, printNumber, react } from './draw.js'
import { samples } from './samples.js'
import { changes, choose, demoOf, settings } from './settings.js'

const tokens = /("(?:[^"\\\n]|\\.)*"|'[^']*'|`[^`]*`|-?\b\d[\d.eE+-]*\b)/
const kindOf = (token, rest) => /^[\d-]/.test(token) ? 'number' : rest.startsWith(':') ? 'name' : 'text'
const color = text => text.split(tokens).map((part, i, parts) =>
  i % 2 ? el('span', { class: kindOf(part, parts[i + 1]) }, part) : part)
const drawLines = text => text.split('\n').map(line => el('span', { class: 'line' }, ...color(line)))
export function drawCopy(textOf) { // browsers have a clipboard on localhost, and over HTTPS
  const copy = button('Copy', async () => {
    copy.textContent = await navigator.clipboard.writeText(textOf()).then(() => 'Copied', () => 'Not copied')
    setTimeout(() => { copy.textContent = 'Copy' }, 2000)
  }, 'link copy')
  copy.hidden = !navigator.clipboard
  return copy
}
const printPairs = record => Object.entries(record).map(([name, value]) => `"${name}": ${JSON.stringify(value)}`)
const isList = value => Array.isArray(value) && value.length > 0
// printJSON gives each record of a list one line, and drawJSON breaks it between fields where it is too long.
export const printJSON = value => isList(value)
  ? `[\n${value.map(record => `  {${printPairs(record).join(', ')}}`).join(',\n')}\n]` : JSON.stringify(value, null, 2)
function drawRecord(record, at, list) {
  const pairs = printPairs(record), end = at < list.length - 1 ? '},' : '}'
  return el('span', { class: 'line' }, '  {', ...pairs.flatMap((pair, i) =>
    [i ? ' ' : '', el('span', { class: 'pair' }, ...color(pair), i < pairs.length - 1 ? ',' : end)]))
}
export function drawJSON(value) {
  const pre = el('pre'), draw = list => pre.replaceChildren('[', ...list.map(drawRecord), ']')
  if (!isList(value)) return [el('pre', {}, ...drawLines(printJSON(value)))]
  draw(value.slice(0, 20))
  const more = button(`Show all ${printNumber(value.length)}`, () => { draw(value); more.remove() }, 'link all')
  return value.length > 20 ? [pre, more] : [pre]
}
// drawSample returns the code of a request, and a function that draws it anew. One's own key is copied, but not shown.
export function drawSample(requestFor) {
  const codeFor = key => samples[settings.language](requestFor(key || 'KEY'))
  const shorten = code => code.replace(/x{99,}/g, letters => `x… (${printNumber(letters.length)} letters)`)
  const pre = el('pre', { class: 'code' })
  const shownKey = () => demoOf(settings.key) ? settings.key : '•'.repeat(settings.key.length)
  const draw = () => pre.replaceChildren(...drawLines(shorten(codeFor(shownKey()))))
  const tabs = Object.keys(samples).map(language => button(language, () => choose('language', language), 'tab'))
  react(() => tabs.forEach(tab => { tab.ariaPressed = tab.textContent === settings.language }), [changes, 'language'])
  changes.addEventListener('language', draw)
  const languages = el('div', { class: 'tabs', role: 'group', 'aria-label': 'Language' }, ...tabs)
  languages.append(drawCopy(() => codeFor(settings.key)))
  return { parts: [languages, pre], draw }
}
