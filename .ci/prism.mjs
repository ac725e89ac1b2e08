// Checks the server against docs/openapi.json. Every operation is called through Prism, a proxy that compares each
// request and each response with the description and reports what it objects to in the header sl-violations. It
// must never object to a response, and only to requests that are meant to be refused.
import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual } from 'node:util'

const root = fileURLToPath(new URL('..', import.meta.url))
const temp = mkdtempSync(join(tmpdir(), 'petstore-'))
const [folder, keys, binary] = ['data', 'keys.json', 'petstore.exe'].map(name => join(temp, name)) // .exe for Windows
const data = join(folder, 'data.json')
mkdirSync(folder)
const children = []
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL')
  rmSync(temp, { recursive: true, force: true })
})
const quit = reason => { console.error(`prism.mjs: ${reason}`); process.exit(1) }
for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM']) process.on(signal, quit)
setTimeout(quit, 180_000, 'not finished after 3 minutes').unref()

// start runs a program and returns the address that it prints after the given words.
const start = (words, ...command) => new Promise((resolve, reject) => {
  const child = spawn(command[0], command.slice(1), { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] })
  children.push(child)
  let output = ''
  const read = chunk => {
    output = (output + chunk).slice(-9999)
    const address = output.match(`${words} (http\\S+)\n`)?.[1]
    if (address) resolve(address)
  }
  child.stdout.on('data', read)
  child.stderr.on('data', read)
  child.on('error', reject)
  child.on('exit', () => reject(new Error(`${command[0]} ended: ${output}`)))
})

writeFileSync(keys, `[{"key": "big", "plan": "enterprise", "perMinute": 99999, "perDay": 99999},
  {"key": "small", "plan": "free"}]`)
execFileSync('go', ['build', '-o', binary, '.'], { cwd: root, stdio: 'inherit' })
const server = await start('Petstore API:', binary, '-addr', 'localhost:0', '-data', data, '-keys', keys)
const proxy = await start('listening on', process.execPath, '.ci/node_modules/@stoplight/prism-cli/dist/index.js',
  'proxy', '--port=0', '--multiprocess=false', 'docs/openapi.json', server)

const api = JSON.parse(readFileSync(join(root, 'docs/openapi.json')))
const deref = value => value.$ref ? value.$ref.slice(2).split('/').reduce((at, name) => at[name], api) : value
const examples = message => message?.content?.['application/json'].examples ?? {}
// sample is a valid query parameter. Filters have no example: a page or a client that fills in examples would filter.
const sample = ({ name, example, schema }) => `${name}=${example ?? deref(schema).enum?.[0] ?? schema.minimum}`
const operations = Object.entries(api.paths).flatMap(([path, item]) => Object.entries(item).map(([method, operation]) => {
  const parameters = (operation.parameters ?? []).map(deref)
  return {
    ...operation,
    path,
    method: method.toUpperCase(),
    bodies: operation.requestBody ? Object.values(examples(operation.requestBody)).map(({ value }) => value) : [undefined],
    at: id => path.replace(/{(.*)}/, (_, name) => id ?? parameters.find(parameter => parameter.name === name).example),
    query: parameters.filter(parameter => parameter.in === 'query').map(sample).join('&'),
  }
}))

const big = { Authorization: 'Bearer big', 'Content-Type': 'application/json' }
const small = { ...big, Authorization: 'Bearer small' }
const stranger = { 'Content-Type': 'application/json' }
const failures = [], seen = new Set(), errors = []
let passed = 0

// faults sends a row and returns what is wrong with the response. If an example is given, the body must equal it.
async function faults([method, path, body, headers, status], base, example, location) {
  const response = await fetch(base + path, { method, headers, body })
  const text = await response.text()
  const received = text && JSON.parse(text)
  const violations = response.headers.get('sl-violations') ?? ''
  const operation = operations.find(o => o.method === method && RegExp(`^${o.at('[^/]+')}$`).test(path.split('?')[0]))
  seen.add(`${operation?.operationId} ${response.status}`)
  if (status >= 400) errors.push(received)
  return [
    response.status !== status && `${response.status} ${text}`,
    (status < 400 ? violations : /Too many|"location":\["response"/.test(violations)) && violations,
    status >= 400 && received.status !== status && `the body's status is ${received.status}`,
    !response.headers.has('X-RateLimit-Remaining') && 'no rate headers',
    example && !isDeepStrictEqual(received, example) && `not its example: ${text}`,
    location && response.headers.get('Location') !== location && `Location: ${response.headers.get('Location')}`,
  ].filter(Boolean)
}

async function drive([method, path, body, headers, status], base = proxy, ...expected) {
  const sent = body === undefined || typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body)
  const wrong = await faults([method, path, sent, headers, status], base, ...expected).catch(error => [error.cause ?? error])
  if (wrong.length) failures.push(`${method} ${path} ${(sent ?? '').slice(0, 80)} -> ${status}, but ${wrong.join('; ')}`)
  else passed++
}

const refused = [
  ['GET', '/pets?status=lost', undefined, big, 400],
  ['GET', '/pets?categoryId=0', undefined, big, 400],
  ['POST', '/pets', { categoryId: 1 }, big, 400],
  ['POST', '/pets', { name: ' ', categoryId: 1 }, big, 400],
  ['POST', '/pets', { name: 'Pip', categoryId: '1' }, big, 400],
  ['POST', '/pets', { name: 'Pip', categoryId: 1.5 }, big, 400],
  ['POST', '/pets', { name: 'Pip', categoryId: 999 }, big, 400],
  ['POST', '/pets', { name: 'Pip', categoryId: 1, status: 'lost' }, big, 400],
  ['POST', '/pets', { name: 'Pip', categoryId: 1, id: 6 }, big, 400],
  ['PUT', '/pets/1', { name: 'Rex', categoryId: 999 }, big, 400],
  ['DELETE', '/pets/2', undefined, big, 409],
  ['POST', '/categories', { name: 'x'.repeat(201) }, big, 400],
  ['POST', '/categories', { name: 'Birds', description: 'x'.repeat(2001) }, big, 400],
  ['DELETE', '/categories/1', undefined, big, 409],
  ['POST', '/store/orders', { id: 3 }, big, 400],
  ['POST', '/store/orders', { petId: 999 }, big, 400],
  ['POST', '/store/orders', { quantity: 0 }, big, 400],
  ['POST', '/store/orders', { shipDate: 'tomorrow' }, big, 400],
  ['POST', '/store/orders', { complete: 'no' }, big, 400],
  ['PUT', '/store/orders/2', { id: 3 }, big, 400],
  ['PUT', '/store/orders/1', { petId: 4 }, big, 409],
  ['DELETE', '/store/orders/1', undefined, big, 409],
  ['PATCH', '/inventory/1', {}, big, 400],
  ['PATCH', '/inventory/1', { quantity: -1 }, big, 400],
]
for (const { method, at, bodies: [body], query, requestBody } of operations) {
  refused.push([method, at(), body, stranger, 401])
  if (at() !== at('x')) refused.push([method, at('x'), body, big, 400], [method, at(999), body, big, 404])
  if (query) for (const bad of ['limit=0', 'limit=101', 'limit=', 'limit=1&limit=2', 'after=x', 'after=-1', 'color=red'])
    refused.push([method, `${at()}?${bad}`, undefined, big, 400])
  if (!requestBody) continue
  for (const bad of ['', [], { color: 'red' }, { name: null }, { quantity: null }]) refused.push([method, at(), bad, big, 400])
  refused.push([method, at(), { name: 'x'.repeat(70_000) }, big, 413])
  refused.push([method, at(), body, { ...big, 'Content-Type': 'text/plain' }, 415])
}
for (const row of refused) await drive(row)

// The description has no HEAD, and Prism rewrites each body. These rows go straight to the server.
for (const row of [
  ...operations.filter(({ method }) => method === 'GET').map(({ at }) => ['HEAD', at(), undefined, big, 200]),
  ['GET', '/nowhere', undefined, big, 404],
  ['PATCH', '/pets', undefined, big, 405],
  ['POST', '/pets', '{"name": "Pip", ', big, 400],
  ['PATCH', '/inventory/1', Buffer.from('{"quantity": 3}'), { 'X-API-Key': 'big' }, 200],
]) await drive(row, server)

// Each example request succeeds. Deletions come last, so that the others still find their records.
const verbs = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']
const ordered = operations.toSorted((a, b) => verbs.indexOf(a.method) - verbs.indexOf(b.method))
for (const { method, at, bodies, query, responses } of ordered) {
  const [status] = Object.keys(responses)
  for (const body of bodies) await drive([method, at(), body, big, +status])
  if (query) for (const more of [query, 'limit=1', 'after=1&limit=100'])
    await drive([method, `${at()}?${more}`, undefined, big, 200])
}
await drive(['GET', '/pets?status=sold&categoryId=2&limit=1', undefined, { 'X-API-Key': 'big' }, 200])

// On a fresh server, each gets exactly its example response: the one with the same name, or the first one.
for (const { method, at, requestBody, query, responses } of operations) {
  const [status, response] = Object.entries(responses)[0], { filtered, ...others } = examples(response)
  const requests = Object.entries(examples(requestBody)).map(([name, { value }]) => [at(), value, others[name].value])
  if (!requestBody) requests.push([at(), undefined, Object.values(others)[0]?.value])
  if (filtered) requests.push([`${at()}?${query}`, undefined, filtered.value])
  for (const [path, body, example] of requests) {
    const fresh = await start('Petstore API:', binary, '-addr', 'localhost:0', '-data', '', '-keys', keys)
    await drive([method, path, body, big, +status], fresh, example, response.headers.Location?.example)
    children.pop().kill()
  }
}

// The free key uses up its limit and is then banned for being refused in ten seconds in a row.
const useUp = () => fetch(`${server}/pets`, { headers: small })
for (let i = 0; i < 60; i++) await useUp()
for (const { method, at, bodies: [body] } of operations) await drive([method, at(), body, small, 429])
for (let i = 0; i < 11; i++) await sleep(1000).then(useUp)
for (const { method, at, bodies: [body] } of operations) await drive([method, at(), body, small, 403])

// Without the directory of its file, the server cannot save. Records with the id 3 still exist.
renameSync(folder, `${folder}.away`)
for (const { method, at, bodies: [body] } of operations)
  if (method !== 'GET') await drive([method, at(3), body, big, 503])
const failing = await start('Petstore API:', binary, '-addr', 'localhost:0', '-data', '', '-keys', keys, '-fail', '1/1')
for (const { method, at } of operations)
  if (method === 'GET') await drive([method, at(), undefined, big, 503], failing)

for (const { operationId, responses } of operations) for (const status in responses)
  if (status !== '500' && !seen.has(`${operationId} ${status}`)) failures.push(`${operationId} never returned ${status}`)
for (const name in api.components.examples)
  if (name !== 'InternalError' && !errors.some(error => isDeepStrictEqual(error, api.components.examples[name].value)))
    failures.push(`the server never sent the example ${name}`)

for (const failure of failures) console.log(failure)
console.log(`${passed} passed, ${failures.length} failed`)
process.exit(failures.length ? 1 : 0)
