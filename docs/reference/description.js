// Reads the OpenAPI description. Nothing here touches the page or the network.
import description from '../openapi.json' with { type: 'json' }
/** @typedef {{ name: string, in: string, required?: boolean, example?: string, schema: any, description?: string,
 *   content?: any }} Input a parameter, or the body
 * @typedef {{ operationId: string, method: string, path: string, summary: string, description: string,
 *   tags: string[], inputs: Input[], body?: Input, responses: Record<string, any>, canSend: boolean,
 *   deprecated?: boolean, 'x-stability'?: string }} Operation
 * @typedef {{ parameters?: Record<string, string>, body?: object | string, letters?: Record<string, number>,
 *   query?: string, headers?: Record<string, string>, until?: number }} Trial an x-try: it changes parameters of a
 *   valid request and fields of its body (null leaves one out, letters make one long), or has a whole body, adds a
 *   query or headers, and may have to be sent until a status comes
 * @typedef {{ summary: string, value: any, 'x-try'?: Trial }} Example
 * @typedef {{ values: Record<string, string>, query?: string, headers?: Record<string, string> }} Draft what is filled
 *   in for a request: values of its fields, and what a trial adds that no field holds */
/** @type {any} */
export const api = description
/** resolve follows $ref. @returns {any} */
export const resolve = node =>
  node.$ref ? resolve(node.$ref.slice(2).split('/').reduce((at, name) => at[name], api)) : node
export const contentOf = message => Object.values(message.content ?? {})[0] ?? {}
/** @returns {Example[]} those that can be tried first */
export const examplesOf = message => Object.values(contentOf(message).examples ?? {}).map(resolve)
  .sort((a, b) => Number('x-try' in b) - Number('x-try' in a))
/** @type {Operation[]} */
export const operations = Object.entries(api.paths).flatMap(([path, item]) => Object.entries(item)
  .filter(([, operation]) => operation.operationId)
  .map(([method, { parameters = [], requestBody, ...operation }]) => {
    const body = requestBody && { ...requestBody, ...contentOf(requestBody), name: 'body', in: 'body' }
    const inputs = [...parameters, body].filter(Boolean).map(resolve)
    const canSend = !operation['x-hideTryItPanel']
    return { ...operation, path, method: method.toUpperCase(), inputs, body, canSend }
  }))
export const sharedStatuses = Object.keys(operations[0].responses).filter(status => new Set(operations
  .map(({ responses }) => JSON.stringify(responses[status]))).size === 1)
export const ownStatuses = ({ responses }) => Object.keys(responses).filter(s => !sharedStatuses.includes(s))
const responses = operations.flatMap(operation => Object.values(operation.responses).map(resolve))
export const headerNames = [...new Set(responses.flatMap(({ headers = {} }) => Object.keys(headers)))]
export const limitHeaders = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset']
// The prose of the description: an introduction, and what stands under each "## " heading.
export const [introduction, ...sections] = api.info.description.split(/\n\n## /)
export const proseOf = Object.fromEntries(sections.map(section => section.split(/\n\n([^]*)/)))
// codes are those of errors, each with its status and the first operation and example that can be tried.
const trials = operations.filter(({ canSend }) => canSend).flatMap(operation =>
  Object.values(operation.responses).flatMap(response => examplesOf(resolve(response)))
    .map(example => ({ operation, example })))
export const codes = Object.entries(api.components.schemas.Error.properties.code['x-codes'])
  .map(([code, { status, description }]) => ({ code, status, description,
    trial: trials.find(({ example }) => example.value.code === code && example['x-try']) }))
/** operationAt finds the operation that a path such as /pets/6 leads to, and the values in the path. */
export const operationAt = path => operations.map(operation => ({
  operation, values: path.match(RegExp(`^${operation.path.replace(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`))?.groups,
})).find(({ values }) => values)
export function fieldsOf(schema) {
  const { items, properties = {}, required = [] } = resolve(schema)
  if (items) return fieldsOf(items)
  return Object.entries(properties).map(([name, schema]) =>
    ({ name, schema, required: required.includes(name), description: resolve(schema).description }))
}
export function schemaName(schema) {
  const { items, type } = resolve(schema)
  return items ? `array of ${schemaName(items)}` : schema.$ref?.split('/').at(-1) ?? type
}
export const typeOf = ({ type, format }) => type === 'string' && format || type
export function rangeOf({ enum: values, minimum, maximum, minLength, maxLength }) {
  const between = (low, high) => low === undefined ? high !== undefined && `at most ${high}`
    : high === undefined ? `at least ${low}` : `${low} to ${high}`
  const size = between(minLength, maxLength), characters = size && `${size} characters`
  return values ? `one of ${values.join(', ')}` : between(minimum, maximum) || characters || ''
}
/** draftOf fills in a trial. @param {Operation} operation @param {Trial} trial @returns {Draft} */
export function draftOf({ inputs, body }, { parameters = {}, body: change, letters = {}, query, headers }) {
  const values = Object.fromEntries(inputs.map(({ name, required, example }) =>
    [name, parameters[name] ?? (required ? example : '')]))
  if (!body) return { values, query, headers }
  const fields = { ...examplesOf(body)[0]?.value, ...Object(change) }
  for (const [name, count] of Object.entries(letters)) fields[name] = 'x'.repeat(count)
  const text = JSON.stringify(fields, (_, value) => value ?? undefined, 2)
  return { values: { ...values, body: typeof change === 'string' ? change : text }, query, headers }
}
