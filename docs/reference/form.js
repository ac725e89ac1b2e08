// The form of a request: what is filled in, and which field is at fault.
import { makeRequest } from './client.js'
import { printJSON } from './code.js'
import { examplesOf, rangeOf, resolve } from './description.js'
import { $, all, button, el, setText } from './draw.js'
import { canBeSent, recall, remember, settings } from './settings.js'
/** @typedef {import('./description.js').Draft} Draft
 * @typedef {{ field: any, text: string }} Fault of a field, in words unless the answer has them */
export class Form {
  /** With a memory, the session keeps the values under this name.
   * @param {import('./description.js').Operation} operation @param {string} [memory]
   * @param {() => void} [onRemove] is called when something added has been taken away */
  constructor(operation, memory, onRemove) {
    this.operation = operation
    this.memory = memory
    this.onRemove = onRemove
    this.element = el('div', { class: 'inputs' }, ...operation.canSend ? operation.inputs.map(drawField) : [])
    this.fields = all('[name]', this.element)
    this.remembered = memory && recall('sessionStorage', memory)
  }
  /** @returns {Draft} */
  get draft() {
    const { query, headers } = this
    return { values: Object.fromEntries(this.fields.map(({ name, value }) => [name, value])), query, headers }
  }
  /** fill takes values for some fields. One that is remembered may have no field any more.
   * @param {Draft} draft */
  fill({ values, query, headers }) {
    for (const field of this.fields) field.value = values[field.name] ?? field.value
    this.query = query
    this.headers = headers
    this.drawAdded()
  }
  drawAdded() {
    const drawRow = (kind, name, value, remove) => el('div', { class: 'added flex' },
      el('span', { class: 'box flex' }, el('code', {}, el('b', {}, name), value), Object.assign(button('×', () => {
        remove()
        this.drawAdded()
        this.onRemove()
      }, 'remove plain'), { ariaLabel: `Remove ${name}${value}` })), el('small', {}, `${kind} added by the example`))
    const rows = Object.entries(this.headers ?? {}).map(([name, value]) =>
      drawRow('header', `${name}: `, value, () => this.dropHeader(name)))
    if (this.query) rows.push(drawRow('query', '?', this.query, () => { this.query = undefined }))
    all('.added', this.element).forEach(row => row.remove())
    this.element.append(...rows)
  }
  dropHeader(name) {
    const { [name]: dropped, ...others } = this.headers ?? {}
    this.headers = others
    this.drawAdded()
  }
  remember() { if (this.memory) remember('sessionStorage', this.memory, this.draft.values) }
  requestText(key = settings.key, draft = this.draft) {
    return JSON.stringify(makeRequest(this.operation, draft, key))
  }
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
  findRefused({ status, error: { code = '', message = '' } = {} }) {
    const { inputs, body } = this.operation, named = inputs.find(({ name }) => message.startsWith(name))
    const parameter = named ?? inputs.find(({ in: location }) => location === 'path')
    const refused = status === 400 && (code === 'invalid_parameter' ? parameter : body)
    return refused && { field: this.fields.find(({ name }) => name === refused.name), text: '' }
  }
  /** @param {Fault | null | undefined} fault */
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
  const kind = location === 'body' ? 'textarea' : options ? 'select' : 'input'
  const control = el(kind, { name, spellcheck: 'false' })
  for (const value of options ? ['', ...options] : [])
    control.append(el('option', { value }, value || 'not sent'))
  if (type === 'integer') control.inputMode = 'numeric'
  if (location === 'body') control.defaultValue = printJSON(JSON.stringify(examplesOf(input)[0].value))
  else Object.assign(control, required ? { defaultValue: example } : { placeholder: example || preset })
  return el('label', { class: 'field' }, el('span', {}, el('code', {}, name), required ? ' required' : ''),
    control, el('small', {}, rangeOf(plain)), el('small')) // the last says why it was not sent
}
