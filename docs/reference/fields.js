// Draws the fields of a form, one for each parameter and one for the body.
import { el } from './draw.js'
import { rangeOf, resolve } from './description.js'

function drawControl({ in: place, required, schema, example = '' }) {
  if (place === 'body') return el('textarea', { rows: 5, spellcheck: 'false' }, '{}')
  const { enum: options, type, default: preset = '' } = resolve(schema)
  const control = el(options ? 'select' : 'input', { autocomplete: 'off' })
  for (const value of options ? ['', ...options] : []) control.append(el('option', { value }, value || 'not sent'))
  if (type === 'integer') control.inputMode = 'numeric'
  return Object.assign(control, required ? { value: example } : { placeholder: example || preset })
}
export function drawField(id, input) {
  const { name, schema, required } = input, control = drawControl(input)
  const hint = el('small', { id: `${id}-hint` }, control.matches('select') ? '' : rangeOf(schema))
  const label = el('label', { for: id }, name), mark = required ? el('small', { class: 'required' }, 'required') : ''
  Object.assign(control, { id, name }).setAttribute('aria-describedby', hint.id)
  return el('div', { class: 'field' }, el('div', {}, label, ' ', mark), control, hint)
}
