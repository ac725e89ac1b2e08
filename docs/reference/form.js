// The form of a request: what is filled in, and which field is at fault.
import { makeRequest } from './client.js'
import { printJSON } from './code.js'
import { examplesOf, rangeOf, resolve } from './description.js'
import { $, all, button, el, setText } from './draw.js'
import { canBeSent, recall, remember, settings } from './settings.js'
/** @import { Draft, Operation } from './description.js'
 * @typedef {{ field: any, text: string }} Fault of a field, in words unless the answer has them */
export class Form {
  query = ''
  /** @type {Record<string, string>} */
  headers = {}
  /** With a memory, the session keeps the values under this name. onRemove is called when something that was
   * added has been taken away. @param {Operation} operation */
  constructor(operation, memory, onRemove) {
    this.operation = operation
    this.memory = memory
    this.onRemove = onRemove
    this.element = el('div', { class: 'inputs under' }, ...operation.canSend ? operation.inputs.map(drawField) : [])
    this.fields = all('[name]', this.element)
    this.remembered = memory && recall('sessionStorage', memory)
  }
  /** @returns {Draft} */
  get draft() {
    const { fields, query, headers } = this
    return { values: Object.fromEntries(fields.map(({ name, value }) => [name, value])), query, headers }
  }
  /** fill takes values for some fields. One that is remembered may have no field any more. @param {Draft} draft */
  fill({ values, query = '', headers = {} }) {
    for (const field of this.fields) field.value = values[field.name] ?? field.value
    this.add({ query, headers })
  }
  // add shows what no field holds, each with a cross that takes it away.
  add({ query = this.query, headers = this.headers }) {
    Object.assign(this, { query, headers })
    const drawRow = (kind, text, rest) => el('div', { class: 'added flex' },
      el('span', { class: 'box flex' }, el('code', {}, text), Object.assign(button('×', () => {
        this.add(rest)
        this.onRemove()
      }, 'remove plain'), { ariaLabel: `Remove ${text}` })), el('small', {}, `${kind} added by the example`))
    all('.added', this.element).forEach(row => row.remove())
    this.element.append(...Object.entries(headers).map(([name, value]) =>
      drawRow('header', `${name}: ${value}`, { headers: this.headersWithout(name) })))
    if (query) this.element.append(drawRow('query', `?${query}`, { query: '' }))
  }
  headersWithout(name) {
    const { [name]: dropped, ...others } = this.headers
    return others
  }
  remember() { if (this.memory) remember('sessionStorage', this.memory, this.draft.values) }
  requestText(key = settings.key, draft = this.draft) { return JSON.stringify(makeRequest(this.operation, draft, key)) }
  /** findFault returns what keeps the request from being sent. @returns {Fault | undefined} */
  findFault(key) {
    if (!canBeSent(key)) return { field: $('.own'), text: 'A key has only ASCII characters and no spaces.' }
    const field = this.fields.find(({ name, value }) => this.operation.path.includes(`{${name}}`)
      && /^\s*\.{0,2}\s*$/.test(value)) // a browser resolves dots in a path
    const why = field?.value.trim() ? `must be an integer, such as ${field.defaultValue}` : 'is required'
    return field && { field, text: `${field.name} ${why}.` }
  }
  /** findRefused returns what a 400 is about: the parameter that begins its message, the path, or the body.
   * @param {import('./client.js').Entry} entry @returns {Fault | undefined} */
  findRefused({ status, error }) {
    const { code = '', message = '' } = error ?? {}, { inputs, body } = this.operation
    const named = inputs.find(({ name }) => message.startsWith(name))
    const refused = code === 'invalid_parameter' ? named ?? inputs.find(input => input.in === 'path') : body
    return status === 400 && refused && { field: this.fields.find(({ name }) => name === refused.name), text: '' }
  }
  mark(fault) {
    for (const field of this.fields) {
      field.ariaInvalid = String(field === fault?.field)
      setText(field.parentElement.lastChild, field === fault?.field ? fault.text : '')
    }
  }
}
function drawField(input) {
  const { name, in: location, required, schema, example = '' } = input
  const { enum: options, type, default: preset = '', ...plain } = resolve(schema)
  const control = el(location === 'body' ? 'textarea' : options ? 'select' : 'input', { name, spellcheck: 'false' })
  for (const value of options ? ['', ...options] : []) control.append(el('option', { value }, value || 'not sent'))
  const trim = () => { control.value = control.value.trim() } // as it may be pasted with spaces
  if (type === 'integer') Object.assign(control, { inputMode: 'numeric', oninput: trim })
  if (location === 'body') control.defaultValue = printJSON(JSON.stringify(examplesOf(input)[0].value))
  else Object.assign(control, required ? { defaultValue: example } : { placeholder: example || preset })
  return el('label', { class: `field soft in-${location}` }, el('span', {}, el('code', {}, name), required ? ' required' : ''),
    control, el('small', {}, rangeOf(plain)), el('small')) // the last says why it was not sent
}
