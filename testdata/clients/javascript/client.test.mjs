import assert from 'node:assert/strict'
import { once } from 'node:events'
import { chmodSync } from 'node:fs'
import { createServer } from 'node:http'
import { describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import Client from './client.mjs'
import petstore from './petstore.mjs'

const bodies = { POST: { name: 'Käuze' }, PUT: { name: 'Käuze' }, PATCH: { quantity: 5 } }
const apiError = 'APIError', noResponse = { name: 'NoResponse' }, success = {}
const failed = '503 failed_on_purpose', minute = ['-minute', '3s', '-keys', 'keys.json']

// start returns a client of a new server, and the server.
async function start(t, flags, options) {
  const server = await petstore(t, ...flags)
  return [new Client(server.url, { timeout: 2000, backoff: 100, ...options }), server]
}

// check makes calls, and compares what they send with the server's log. Each call has the outcomes of its
// requests. The last one says how it ends, but for a third value.
async function check(t, flags, calls, { waits = [], ...options } = {}) {
  const [client, server] = await start(t, flags, options), sent = []
  for (const [line, outcomes, end] of calls) {
    const [method, path] = line.split(' '), [status, code] = outcomes.at(-1).split(' ')
    const call = client.call(method, path, bodies[method])
    if ((end ?? (status < '3' && success)) === success) assert.equal((await call)?.name, bodies[method]?.name)
    else await assert.rejects(call, end ?? (code ? { name: apiError, status: Number(status), code } : noResponse))
    sent.push(...outcomes.map(outcome => `${line} ${outcome}`))
  }
  const end = performance.now()
  assert.deepEqual(await server.stop(), sent)
  assert(end - server.times.at(-1) < 900, 'waited after the last try')
  near(server, waits)
}

// near compares the last waits, in seconds. One may be longer, since machines are busy.
function near({ times }, want) {
  const waits = times.slice(1).map((time, i) => (time - times[i]) / 1000).slice(times.length - 1 - want.length)
  const good = want.every((wait, i) => waits[i] > 0.8 * wait && waits[i] < 1.6 * wait + 0.4)
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

async function idsOf(list) {
  const ids = []
  for await (const { id } of list) ids.push(String(id))
  return ids.join(' ')
}

describe('a client', { concurrency: 8, timeout: 60_000 }, () => {
  it('an API error is returned at once, with its code and message', async t => {
    const [client, server] = await start(t, [])
    const fails = async (method, path, status, code, message) => {
      const error = { name: apiError, status, code, message }
      await assert.rejects(client.call(method, path, method === 'POST' ? {} : undefined), error)
      assert.equal((await server.requests()).at(-1), `${method} ${path} ${status} ${code}`)
    }
    await fails('POST', '/pets', 400, 'invalid_field', /^name /)
    await fails('GET', '/pets/99', 404, 'not_found', /^No pet has the id 99/)
    await fails('PUT', '/pets', 405, 'method_not_allowed', /^This path /)
    await fails('DELETE', '/categories/1', 409, 'in_use', /^Pet 1 /)
    assert.equal((await server.stop()).length, 4)
  })
  it('a first DELETE that finds nothing is an error', t =>
    check(t, [], [['DELETE /pets/5', ['204']], ['DELETE /pets/5', ['404 not_found']]]))
  it('a response that is not JSON is an error of the client', async t => {
    const [url, methods] = await serve(t, (response, count) =>
      response.writeHead(count === 1 ? 200 : 502).end('<html>'))
    const client = new Client(url)
    await assert.rejects(client.call('GET', '/pets'), { name: apiError, status: 200, code: undefined })
    await assert.rejects(client.call('POST', '/pets', {}), { name: apiError, status: 502, code: undefined })
    assert.deepEqual(methods, ['GET', 'POST'])
  })
  it('a body that is cut off is an error of the client', async t => {
    const [url, methods] = await serve(t, (response, count) => {
      response.writeHead(200, { 'Content-Length': 9 })
      if (count === 2) response.end('["whole"]')
      else response.write('["who', () => response.destroy())
    })
    const client = new Client(url, { backoff: 100 })
    assert.deepEqual(await client.call('GET', '/pets'), ['whole'])
    await assert.rejects(client.call('POST', '/categories', bodies.POST), noResponse)
    await assert.rejects(new Client('http://127.0.0.1:1').call('POST', '/categories', bodies.POST), noResponse)
    assert.deepEqual(methods, ['GET', 'GET', 'POST'])
  })
  it('waits as told after each of two 503s', t =>
    check(t, ['-fail', '2/3'], [['POST /categories', [failed, failed, '201']]], { waits: [1, 1] }))
  it('gives up after five tries, with the last error', t =>
    check(t, ['-fail', '1/1'], [['GET /pets', Array(5).fill(failed)]], { waits: [1, 1, 1, 1] }))
  it('a POST or PATCH is not sent again after a 503 without Retry-After', t => {
    chmodSync('zoo.json', 0o444)
    const calls = [['POST /categories', ['503 save_failed']], ['PATCH /inventory/1', ['503 save_failed']]]
    return check(t, ['-data', 'zoo.json'], calls)
  })
  it('a lost GET, PUT or DELETE is sent again', t => check(t, ['-drop', '1/2'], [
    ['GET /pets', ['dropped', '200']],
    ['PUT /categories/2', ['dropped', '200']],
    ['DELETE /pets/5', ['dropped', '404 not_found'], success],
  ]))
  it('a lost POST or PATCH is not sent again', t =>
    check(t, ['-drop', '1/1'], [['POST /categories', ['dropped']], ['PATCH /inventory/1', ['dropped']]]))
  it('waits grow from try to try, up to a limit', t =>
    check(t, ['-drop', '1/1'], [['GET /pets', Array(5).fill('dropped')]],
      { backoff: 1000, maxWait: 4000, waits: [1, 2, 4, 4] }))
  it('a late GET is sent again; the timeout is for each try', t =>
    check(t, ['-delay', '8s', '-slow', '2/3'], [['GET /pets', ['200', '200', '200']]]))
  it('a late POST is not sent again', t =>
    check(t, ['-delay', '8s'], [['POST /categories', ['201'], noResponse]]))
  it('waits for the next minute, and asks no more than needed', t => {
    const served = ['GET /pets', ['200']], calls = [served, served, served, ['GET /pets', ['429 rate_limited', '200']]]
    return check(t, minute, calls, { key: 'minute', waits: [2] })
  })
  it('does not wait for the next day', t => {
    const served = ['GET /pets', ['200']], calls = [served, served, served, ['GET /pets', ['429 rate_limited']]]
    return check(t, ['-keys', 'keys.json'], calls, { key: 'day' })
  })
  it('waits for the end of a ban, and asks nothing meanwhile', async t => {
    const [client, server] = await start(t, minute, { key: 'minute' })
    const impatient = () => fetch(`${server.url}/pets`, { headers: { 'X-API-Key': 'minute' } })
    while ((await impatient()).status !== 403) await sleep(20)
    const { length } = await server.requests()
    await client.call('GET', '/pets')
    assert.deepEqual((await server.stop()).slice(length), ['GET /pets 403 key_banned', 'GET /pets 200'])
    near(server, [14])
  })
  it('a cancelled wait ends at once', async t => {
    const [client, server] = await start(t, minute, { key: 'minute', backoff: 4000 })
    for (let i = 0; i < 3; i++) await client.call('GET', '/pets')
    await cancel(client)
    await sleep(3500) // in which a client that goes on would ask again
    assert.deepEqual((await server.stop()).slice(3), ['GET /pets 429 rate_limited'])
  })
  it('a cancelled request ends at once', async t => {
    const [client, server] = await start(t, ['-delay', '8s'], { timeout: 30_000, backoff: 4000 })
    await cancel(client)
    await sleep(1000)
    assert.deepEqual(await server.stop(), ['GET /pets 200'])
  })
  it('lists four pages and more, each record once and in order', async t => {
    const [client, server] = await start(t, ['-sample', 'zoo.json'])
    assert.equal(await idsOf(client.list('/pets?limit=2&status=available')),
      '1 2 3 5 3000000000 9007199254740993 9007199254740995 9007199254740997')
    assert.deepEqual(await server.stop(), ['', 'after=2&', 'after=5&', 'after=9007199254740993&'].map(after =>
      `GET /pets?${after}limit=2&status=available 200`))
  })
  it('a fault between pages is retried, and no record comes twice', async t => {
    const flags = [...minute, '-fail', '2-2/1000000', '-only', 'GET /categories']
    const [client, server] = await start(t, flags, { key: 'minute' })
    assert.equal(await idsOf(client.list('/categories?limit=1')), '1 2 3 4')
    const pages = ['limit=1 200', 'after=1&limit=1 503 failed_on_purpose', 'after=1&limit=1 200',
      'after=2&limit=1 429 rate_limited', 'after=2&limit=1 200', 'after=3&limit=1 200']
    assert.deepEqual(await server.stop(), pages.map(page => `GET /categories?${page}`))
    const [limited] = await start(t, ['-keys', 'keys.json'], { key: 'day' })
    await assert.rejects(idsOf(limited.list('/categories?limit=1')), { name: apiError }) // it does not just end
  })
  it('follows the next link under another base path', async t => {
    const server = await petstore(t)
    const [base] = await serve(t, async (response, _, url) => {
      const path = url.replace(/^\/petstore\//, '/')
      if (path === url) return response.writeHead(404).end()
      const answer = await fetch(server.url + path, { headers: { 'X-API-Key': 'demo-free' } })
      response.setHeaders(answer.headers).end(await answer.text())
    })
    assert.equal(await idsOf(new Client(`${base}/petstore`).list('/pets?limit=2')), '1 2 3 4 5')
    assert.deepEqual(await server.stop(), ['', 'after=2&', 'after=4&'].map(after => `GET /pets?${after}limit=2 200`))
  })
  it('eight callers share one client, and none waits for another', async t => {
    const [client, server] = await start(t, ['-delay', '1s', '-fail', '6/1000000'], { timeout: 10_000 })
    const names = [...'ABCDEFGH'], begin = performance.now()
    const records = await Promise.all(names.map(name => client.call('POST', '/categories', { name })))
    const milliseconds = performance.now() - begin
    assert.deepEqual(records.map(({ name }) => name), names)
    const statuses = (await server.stop()).map(line => line.split(' ')[2])
    assert.deepEqual([...statuses.slice(0, 8).sort(), ...statuses.slice(8)].join(' '),
      '201 201 503 503 503 503 503 503 201 201 201 201 201 201')
    assert(milliseconds < 6000, `took ${milliseconds} ms`)
  })
})
