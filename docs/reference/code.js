// Draws JSON and code in color.
import { announce, button, drawTabs, el, markTab, printNumber, react } from './draw.js'
import { samples } from './samples.js'
import { changes, choose, demoOf, settings } from './settings.js'
const tokens = /("(?:[^"\\\n]|\\.)*"|'[^']*'|`[^`]*`|-?\b\d[\d.eE+-]*\b|\b(?:true|false|null)\b)/
const kindOf = (token, rest) => /^[\d-]/.test(token) ? 'number' : /^[tfn]/.test(token) ? 'word'
  : rest.startsWith(':') ? 'name' : 'text'
const color = text => text.split(tokens).map((part, i, parts) =>
  i % 2 ? el('span', { class: kindOf(part, parts[i + 1]) }, part) : part)
// drawLines draws a record of a list as its pairs, so that a line breaks between two of them.
const drawPairs = pairs => pairs.flatMap((pair, i) => [i ? ' ' : '', el('span', { class: 'pair' }, ...color(pair))])
const drawLines = text => text.split('\n').map(line => {
  const pairs = line.split(/(?<=,) (?="(?:[^"\\]|\\.)*": )/)
  return el('span', { class: 'line' }, ...pairs.length > 1 ? drawPairs(pairs) : color(line))
})
/** drawCopy makes a button that copies a text. Browsers have a clipboard on localhost, and over HTTPS. */
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
const turns = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g // the direction of text; all stays in its place
const escape = letter => `\\u${letter.charCodeAt().toString(16).padStart(4, '0')}`
/** printJSON lays out the text of a value, with each record of a list on one line. It works on the text, as
 * a number in JavaScript has 53 bits and an id has 63. What is no JSON stays as it is. @param {string} text */
export function printJSON(text) {
  try { JSON.parse(text) } catch { return text.replace(turns, escape) }
  const parts = text.match(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g), isList = parts[0] + parts[1] === '[{'
  const isOpen = part => part === '{' || part === '[', isClose = part => part === '}' || part === ']'
  let depth = 0
  return parts.map((part, i) => {
    const before = depth
    depth += Number(isOpen(part)) - Number(isClose(part))
    const line = isList && Math.max(before, depth) > 1 ? '' : `\n${'  '.repeat(depth)}`
    if (isOpen(part)) return isClose(parts[i + 1]) ? part : part + line
    if (isClose(part)) return isOpen(parts[i - 1]) ? part : line + part
    return part + (part === ',' ? line || ' ' : part === ':' ? ' ' : '')
  }).join('').replace(turns, escape)
}
export const drawJSON = text => el('pre', { class: 'json' }, ...drawLines(printJSON(text)))
/** drawSample returns the code of a request, and how to draw it anew. One's own key is copied, but not shown.
 * @param {(key: string) => import('./client.js').Request} requestWith */
export function drawSample(requestWith) {
  const codeFor = key => (samples[settings.language] ?? samples.curl)(requestWith(key || 'KEY'))
  const shorten = code => code.replace(/x{99,}/g, letters => `x… (${printNumber(letters.length)} letters)`)
  const pre = el('pre', { class: 'code' })
  const shownKey = () => demoOf(settings.key) ? settings.key : '•'.repeat(settings.key.length)
  const draw = () => pre.replaceChildren(...drawLines(shorten(codeFor(shownKey())).trimEnd()))
  const languages = drawTabs('Language', Object.keys(samples), name => choose('language', name))
  languages.classList.add('under')
  react(() => markTab(languages, settings.language), [changes, 'language'])
  changes.addEventListener('language', draw)
  languages.append(Object.assign(drawCopy('the code', () => codeFor(settings.key)), { className: 'link copy end' }))
  return { element: el('div', { class: 'slab' }, languages, pre), draw }
}
