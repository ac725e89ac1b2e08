// The fields of a request: what they hold, what the request then is, and which of them is at fault.
import { makeRequest } from './client.js'
import { printJSON } from './code.js'
import { examplesOf, rangeOf, resolve } from './description.js'
import { $, all, el, setText } from './draw.js'
import { recall, remember } from './settings.js'
export const canBeSent = key => !/[^!-~]/.test(key)
export class Fields {
  extras = undefined // of the request, what a mistake adds that no field can hold
  // With a memory, the session keeps the values under this name.
  constructor(operation, memory) {
    this.operation = operation
    this.memory = memory
    this.remembered = memory && recall('sessionStorage', memory)
    this.element = el('div', { class: 'inputs' }, ...operation.canSend ? operation.inputs.map(drawField) : [])
    this.fields = all('[name]', this.element)
  }
  get values() { return Object.fromEntries(this.fields.map(({ name, value }) => [name, value])) }
  // fill takes values for some fields. One that is remembered may have no field any more.
  fill(values, extras) {
    for (const field of this.fields) field.value = values[field.name] ?? field.value
    this.extras = extras
  }
  remember() { if (this.memory) remember('sessionStorage', this.memory, this.values) }
  requestWith(key) { return makeRequest(this.operation, this.values, key, this.extras) }
  // findFault returns what keeps the request from being sent, { field, text }.
  findFault(key) {
    if (!canBeSent(key)) return { field: $('.own'), text: 'A key has only ASCII characters and no spaces.' }
    const field = this.fields.find(({ name, value }) => this.operation.path.includes(`{${name}}`)
      && /^\s*\.{0,2}\s*$/.test(value)) // a browser resolves dots in a path
    const why = field?.value.trim() ? `must be an integer, such as ${field.defaultValue}` : 'is required'
    return field && { field, text: `${field.name} ${why}.` }
  }
  // findRefused returns what a 400 is about: the parameter that begins its message, the path, or the body.
  findRefused({ status, code, message = '' }) {
    const { inputs, body } = this.operation, named = inputs.find(({ name }) => message.startsWith(name))
    const parameter = named ?? inputs.find(({ in: location }) => location === 'path')
    const refused = status === 400 && (code === 'invalid_parameter' ? parameter : body)
    return refused && { field: this.fields.find(({ name }) => name === refused.name), text: '' }
  }
  mark(fault) {
    for (const field of this.fields) {
      field.ariaInvalid = field === fault?.field
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
  if (location === 'body') control.defaultValue = printJSON(examplesOf(input)[0].value)
  else Object.assign(control, required ? { defaultValue: example } : { placeholder: example || preset })
  return el('label', { class: 'field' }, el('span', {}, el('code', {}, name), required ? ' required' : ''),
    control, el('small', {}, rangeOf(plain)), el('small')) // the last says why it was not sent
}
