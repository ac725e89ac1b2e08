import assert from 'node:assert/strict'
import { once } from 'node:events'
import { chmodSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import Client, { APIError, NoResponse } from './client.mjs'
import petstore from './petstore.mjs'

const name = 'Käuze 9007199254740993', bodies = { POST: { name }, PUT: { name }, PATCH: { quantity: 5 } }
const minute = ['-minute', '3s', '-keys', 'keys.json']
setTimeout(() => process.exit(1), 45_000).unref() // though a client still waits, for a day perhaps
chmodSync('zoo.json', 0o444) // as a data file, it cannot be saved

// start returns a client of a new server, and the server.
async function start(t, flags, options) {
  const server = await petstore(t, ...flags)
  return [new Client(server.url, { timeout: 2000, backoff: 100, ...options }), server]
}

// end returns how a call ends, or the ids of a list, and checks the record or the message that the caller gets.
async function end(client, method, path, message = '') {
  try {
    if (method === 'LIST') {
      const ids = []
      for await (const { id } of client.list(path)) ids.push(id)
      return ids.join(' ')
    }
    assert.equal((await client.call(method, path, bodies[method]))?.name, bodies[method]?.name)
    return 'success'
  } catch (error) {
    if (error instanceof NoResponse) return 'no response'
    if (!(error instanceof APIError && error.message.startsWith(message))) throw error
    assert.equal(typeof error.status, 'number')
    return `${error.status} ${error.code}`
  }
}

// check makes the calls of a row, and compares how they end, and the server's log.
async function check(t, { flags, calls, waits = [], options: { key, backoff = 0.1, max_wait = 60 } = {} }) {
  const [client, server] = await start(t, flags, { key, backoff: 1000 * backoff, maxWait: 1000 * max_wait })
  for (const [request, , want, message] of calls)
    assert.equal(await end(client, ...request.split(' '), message), want)
  const now = performance.now()
  assert.deepEqual(await server.stop(), calls.flatMap(([request, outcomes]) =>
    outcomes.map(outcome => `${request} ${outcome}`.replace(/LIST (.*\?)\S* /, 'GET $1'))))
  assert(now - server.times.at(-1) < 900, 'waited after the last try')
  near(server, waits)
}

// near compares the last waits, in seconds. One may be longer, since machines are busy.
function near({ times }, want) {
  const waits = times.slice(1).map((time, i) => (time - times[i]) / 1000).slice(times.length - 1 - want.length)
  const good = want.every((wait, i) => waits[i] > 0.9 * wait - 0.1 && waits[i] < 1.5 * wait + 0.9)
  assert(good, `waited ${waits} s, not ${want} s`)
}

// serve starts a server that does what petstore never does; it returns its URL, and the methods it gets.
async function serve(t, answer) {
  const methods = []
  const server = createServer(({ method, url }, response) => answer(response, methods.push(method), url))
  t.after(() => server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return [`http://127.0.0.1:${server.address().port}`, methods]
}

// cancel cancels a call half a second after its begin.
async function cancel(client) {
  const controller = new AbortController(), enough = Error('enough'), begin = performance.now()
  setTimeout(() => controller.abort(enough), 500)
  await assert.rejects(client.call('GET', '/pets', undefined, controller.signal), error => error === enough)
  const milliseconds = performance.now() - begin
  assert(milliseconds < 2500, `ended after ${milliseconds} ms`)
}

const row = (rule, f) => it(rule, { timeout: 30_000 }, f)

describe('a client', { concurrency: 8 }, () => {
  for (const data of JSON.parse(readFileSync('rows.json'))) row(data.rule, t => check(t, data))
  row('a response that is not JSON is an error of the client', async t => {
    const [url, methods] = await serve(t, (response, count) =>
      response.writeHead(count === 1 ? 200 : 502).end('<html>'))
    assert.equal(await end(new Client(url), 'GET', '/pets'), '200 undefined')
    assert.equal(await end(new Client(url), 'POST', '/pets'), '502 undefined')
    assert.deepEqual(methods, ['GET', 'POST'])
  })
  row('a body that is cut off is an error of the client', async t => {
    const [url, methods] = await serve(t, (response, count) => {
      response.writeHead(200, { 'Content-Length': 9 })
      if (count === 2) response.end('["whole"]')
      else response.write('["who', () => count === 4 || response.destroy())
    })
    const client = new Client(url, { backoff: 100, timeout: 2000 })
    assert.deepEqual(await client.call('GET', '/pets'), ['whole'])
    assert.equal(await end(client, 'POST', '/categories'), 'no response')
    assert.equal(await end(client, 'POST', '/categories'), 'no response') // in time
    assert.equal(await end(new Client('http://127.0.0.1:1'), 'POST', '/categories'), 'no response')
    assert.deepEqual(methods, ['GET', 'GET', 'POST', 'POST'])
  })
  row('waits for the end of a ban, and asks nothing meanwhile', async t => {
    const [client, server] = await start(t, minute, { key: 'minute' })
    const impatient = () => fetch(`${server.url}/pets`, { headers: { 'X-API-Key': 'minute' } })
    while ((await impatient()).status !== 403) await sleep(20)
    const { length } = await server.requests()
    await client.call('GET', '/pets')
    assert.deepEqual((await server.stop()).slice(length), ['GET /pets 403 key_banned', 'GET /pets 200'])
    near(server, [14])
  })
  row('a cancelled wait ends at once', async t => {
    const [client, server] = await start(t, minute, { key: 'minute', backoff: 4000 })
    for (let i = 0; i < 3; i++) await client.call('GET', '/pets')
    await cancel(client)
    await sleep(3500) // in which a client that goes on would ask again
    assert.deepEqual((await server.stop()).slice(3), ['GET /pets 429 rate_limited'])
  })
  row('a cancelled request ends at once', async t => {
    const [client, server] = await start(t, ['-delay', '4s'], { timeout: 30_000, backoff: 4000 })
    const another = client.call('GET', '/categories')
    await cancel(client)
    assert.equal((await another).length, 4)
    assert.deepEqual(await server.stop(), ['GET /pets 200', 'GET /categories 200'])
  })
  row('follows the next link under another base path', async t => {
    const server = await petstore(t)
    const [base] = await serve(t, async (response, _, url) => {
      const path = url.replace(/^\/petstore\//, '/')
      if (path === url) return response.writeHead(404).end()
      const answer = await fetch(server.url + path, { headers: { 'X-API-Key': 'demo-free' } })
      response.setHeaders(answer.headers).end(await answer.text())
    })
    assert.equal(await end(new Client(`${base}/petstore`), 'LIST', '/pets?limit=2'), '1 2 3 4 5')
    assert.deepEqual(await server.stop(), ['', 'after=2&', 'after=4&'].map(after => `GET /pets?${after}limit=2 200`))
  })
  row('eight callers share one client, and none waits for another', async t => {
    const flags = ['-delay', '8s', '-slow', '1/1000000', '-fail', '2-7/1000000'] // A is late, and six others fail
    const [client, server] = await start(t, flags), begin = performance.now()
    const put = async (name, after) => (await sleep(after), (await client.call('PUT', '/categories/1', { name })).name)
    const names = await Promise.all([put('A', 0), ...[...'BCDEFGH'].map(name => put(name, 300))])
    const milliseconds = performance.now() - begin
    assert.equal(names.join(''), 'ABCDEFGH')
    const statuses = (await server.stop()).map(line => line.split(' ')[2])
    assert.equal([...statuses.slice(0, 7).sort(), ...statuses.slice(7)].join(' '),
      '200 503 503 503 503 503 503 200 200 200 200 200 200 200 200')
    assert(server.times[6] - begin < 1800, 'the others waited for A')
    assert(milliseconds < 5000, `took ${milliseconds} ms`)
  })
})
