// Draws JSON and code in color.
import { announce, button, el, printNumber, react } from './draw.js'
import { samples } from './samples.js'
import { changes, choose, demoOf, settings } from './settings.js'
const tokens = /("(?:[^"\\\n]|\\.)*"|'[^']*'|`[^`]*`|-?\b\d[\d.eE+-]*\b|\b(?:true|false|null)\b)/
const kindOf = (token, rest) => /^[\d-]/.test(token) ? 'number' : /^[tfn]/.test(token) ? 'word'
  : rest.startsWith(':') ? 'name' : 'text'
const color = text => text.split(tokens).map((part, i, parts) =>
  i % 2 ? el('span', { class: kindOf(part, parts[i + 1]) }, part) : part)
const drawLines = text => text.split('\n').map(line => el('span', { class: 'line' }, ...color(line)))
// drawCopy makes a button that copies a text. Browsers have a clipboard on localhost, and over HTTPS.
export function drawCopy(what, textOf) {
  const copy = button('Copy', async () => {
    const said = await navigator.clipboard.writeText(textOf()).then(() => 'Copied', () => 'Not copied')
    copy.firstChild.data = said
    announce(said)
    setTimeout(() => { copy.firstChild.data = 'Copy' }, 2000)
  }, 'link copy')
  copy.append(el('span', { class: 'unseen' }, ` ${what}`))
  copy.hidden = !navigator.clipboard
  return copy
}
// print writes JSON. What turns the direction of text is escaped, so that all stands in its place.
const turns = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g
const escape = letter => `\\u${letter.charCodeAt().toString(16).padStart(4, '0')}`
const print = (value, indent) => JSON.stringify(value, null, indent).replace(turns, escape)
const printPairs = record => Object.entries(record).map(([name, value]) => `${print(name)}: ${print(value)}`)
const isList = value => Array.isArray(value) && value.length > 0
// printJSON gives each record of a list one line, and drawJSON breaks it between fields where it is too long.
export const printJSON = value => isList(value)
  ? `[\n${value.map(record => `  {${printPairs(record).join(', ')}}`).join(',\n')}\n]` : print(value, 2)
function drawRecord(record, at, list) {
  const pairs = printPairs(record), end = at < list.length - 1 ? '},' : '}'
  return el('span', { class: 'line' }, '  {', ...pairs.flatMap((pair, i) =>
    [i ? ' ' : '', el('span', { class: 'pair' }, ...color(pair), i < pairs.length - 1 ? ',' : end)]))
}
export const drawJSON = value => el('pre', { class: 'json' },
  ...isList(value) ? ['[', ...value.map(drawRecord), ']'] : drawLines(printJSON(value)))
// drawSample returns the code of a request, and how to draw it anew. One's own key is copied, but not shown.
export function drawSample(requestWith) {
  const codeFor = key => (samples[settings.language] ?? samples.curl)(requestWith(key || 'KEY'))
  const shorten = code => code.replace(/x{99,}/g, letters => `x… (${printNumber(letters.length)} letters)`)
  const pre = el('pre', { class: 'code' })
  const shownKey = () => demoOf(settings.key) ? settings.key : '•'.repeat(settings.key.length)
  const draw = () => pre.replaceChildren(...drawLines(shorten(codeFor(shownKey())).trimEnd()))
  const tabs = Object.keys(samples).map(name => button(name, () => choose('language', name), 'tab'))
  const mark = tab => { tab.ariaPressed = tab.textContent === settings.language }
  react(() => tabs.forEach(mark), [changes, 'language'])
  changes.addEventListener('language', draw)
  const languages = el('div', { class: 'tabs', role: 'group', 'aria-label': 'Language' }, ...tabs)
  languages.append(drawCopy('the code', () => codeFor(settings.key)))
  return { parts: [languages, pre], draw }
}
