// Reads the OpenAPI description, and checks values against it. Nothing here touches the page or the network.
import api from '/openapi.json' with { type: 'json' }
export { api }

// resolve follows $ref and merges allOf, so that everything else sees plain schemas.
export function resolve(node) {
  if (node.$ref) return resolve(node.$ref.slice(2).split('/').reduce((at, name) => at[name], api))
  if (!node.allOf) return node
  const parts = [...node.allOf.map(resolve), { ...node, allOf: undefined }]
  return Object.assign({}, ...parts, {
    required: parts.flatMap(part => part.required ?? []),
    properties: Object.assign({}, ...parts.map(part => part.properties)),
  })
}

export const contentOf = message => Object.values(message.content ?? {})[0] ?? {}
export const examplesOf = message =>
  Object.entries(contentOf(message).examples ?? {}).map(([name, example]) => ({ name, ...resolve(example) }))

export const operations = Object.entries(api.paths).flatMap(([path, item]) => Object.entries(item)
  .filter(([, operation]) => operation.operationId)
  .map(([method, { parameters = [], requestBody, ...operation }]) => {
    const body = requestBody && { ...requestBody, ...contentOf(requestBody), name: 'body', in: 'body' }
    const inputs = [...parameters, body].filter(Boolean).map(resolve)
    return { ...operation, path, method: method.toUpperCase(), inputs, body }
  }))

const first = operations[0].responses
export const sharedStatuses = Object.keys(first).filter(status => operations.every(({ responses }) =>
  JSON.stringify(responses[status]) === JSON.stringify(first[status])))

// The overview has an introduction, and a chapter for each "## " heading.
export const [introduction, ...chapters] = api.info.description.split(/\n\n(?=## )/).map(section => {
  const [, title = '', text] = section.match(/^(?:## (.*)\n\n)?([^]*)$/)
  return { title, id: title.toLowerCase().replace(/\W+/g, '-'), text }
})

// operationAt finds the operation that a path such as /pets/6 leads to, and the values of its path parameters.
export function operationAt(path) {
  for (const operation of operations) {
    const match = path.match(RegExp(`^${operation.path.replace(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`))
    if (match) return { operation, values: { ...match.groups } }
  }
}

export function fieldsOf(schema) {
  const { items, properties = {}, required = [] } = resolve(schema)
  if (items) return fieldsOf(items)
  return Object.entries(properties).map(([name, schema]) => ({
    name, schema, required: required.includes(name), description: resolve(schema).description,
  }))
}

export function typeOf(schema) {
  const { type, format, items, properties } = resolve(schema)
  if (items) return `array of ${typeOf(items)}`
  return properties && schema.$ref?.split('/').pop() || (type === 'string' && format || type)
}

function between(low, high, thing) {
  const unit = thing ? ` ${thing}${(high ?? low) === 1 ? '' : 's'}` : ''
  if (low === undefined) return high !== undefined && `at most ${high}${unit}`
  return high === undefined ? `at least ${low}${unit}` : `${low} to ${high}${unit}`
}

export function rangeOf(schema) {
  const { enum: values, minimum, maximum, minLength, maxLength, maxItems, pattern } = resolve(schema)
  return [
    values && (values.length > 1 ? `one of ${values.join(', ')}` : `always ${values}`), between(minimum, maximum),
    between(minLength, maxLength, 'character'), between(undefined, maxItems, 'item'),
    pattern && (pattern === '\\S' ? 'not blank' : `matching ${pattern}`),
  ].filter(Boolean).join(', ')
}

// --- Checks: each returns what is wrong with a value, or undefined ---
const dateTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/i

function checkValue(name, value, schema) {
  const s = resolve(schema), size = typeof value === 'string' ? [...value].length : value?.length
  const kind = Array.isArray(value) ? 'array' : Number.isInteger(value) ? 'integer' : typeof value
  if (value === null || (s.type && kind !== s.type && !(kind === 'integer' && s.type === 'number')))
    return `${name} must be ${/^[aeiou]/.test(s.type) ? 'an' : 'a'} ${typeOf(s)}.`
  if (s.format === 'date-time' && (!dateTime.test(value) || isNaN(Date.parse(value))))
    return `${name} must be a date-time such as ${s.example}.`
  if (value < s.minimum || value > s.maximum || size < s.minLength || size > s.maxLength || size > s.maxItems
    || s.enum?.every(option => option != value) || (s.pattern && !RegExp(s.pattern, 'u').test(value)))
    return `${name} must be ${rangeOf(s)}.`
  if (kind === 'array') return value.map((item, i) => checkValue(`${name} ${i + 1}`, item, s.items)).find(Boolean)
  if (kind !== 'object') return
  const missing = s.required?.find(field => !Object.hasOwn(value, field))
  if (missing) return `${missing} is missing.`
  const given = fieldsOf(s).filter(field => Object.hasOwn(value, field.name))
  return given.map(field => checkValue(field.name, value[field.name], field.schema)).find(Boolean)
}

export function checkInput({ name, in: place, required, schema }, text) {
  const { type } = resolve(schema), isNumber = type === 'integer' || type === 'number'
  if (!text && place !== 'body') return required ? `${name} is required.` : undefined
  if (place !== 'body') return checkValue(name, isNumber ? Number(text) : text, schema)
  try {
    return checkValue(name, JSON.parse(text), schema)
  } catch (error) {
    return `The body is not valid JSON: ${error.message}.`
  }
}

// mistakeIn returns the values of a form that provokes an error example. Its x-try changes a valid request: some
// parameters, and some fields of the body, of which null leaves one out and a number of letters makes one long.
export function mistakeIn({ inputs, body }, { parameters, body: fields, letters = {} }) {
  const values = Object.fromEntries(inputs.map(({ name, required, example }) => [name, required ? example : '']))
  if (!body) return { ...values, ...parameters }
  const json = { ...examplesOf(body)[0]?.value, ...fields }
  for (const [name, count] of Object.entries(letters)) json[name] = 'x'.repeat(count)
  return { ...values, ...parameters, body: JSON.stringify(json, (_, value) => value ?? undefined, 2) }
}
