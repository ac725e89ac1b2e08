import assert from 'node:assert/strict'
import { once } from 'node:events'
import { chmodSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { inspect } from 'node:util'
import { gzipSync } from 'node:zlib'
import Client, { APIError, NoResponse } from './client.mjs'
import petstore from './petstore.mjs'

const long = readFileSync('exact.json', 'utf8').trim().replace('Käuze', name => name.repeat(12_000))
const big = { id: 9007199254740993n, low: -9007199254740993n, pair: [9007199254740993n, -9007199254740993n] }
const parse = text => text && (text === long ? { ...JSON.parse(text), ...big } : JSON.parse(text))
setTimeout(() => process.exit(1), 45_000).unref() // though a client still waits, for a day perhaps
process.on('warning', warning => { if (warning.name.startsWith('MaxListeners')) throw warning })
chmodSync('zoo.json', 0o444) // as a data file, it cannot be saved

const show = answer => (typeof answer === 'string' ? answer : JSON.stringify(answer))

// equal compares values, and reports them from shortly before their first difference.
function equal(what, ...values) {
  const all = { depth: null, maxArrayLength: null, maxStringLength: null }
  const [got, want] = values.map(value => inspect(value, all))
  let same = 0
  while (same < got.length && got[same] === want[same]) same++
  const [a, b] = [got, want].map(text => text.slice(Math.max(0, same - 50)).slice(0, 200))
  assert(got === want, `${what}: got ...${a}, want ...${b}`)
}

function newClient(url, { key, tries, timeout, backoff, max_wait } = { timeout: 2, backoff: 0.1 }) {
  const ms = seconds => (seconds === undefined ? undefined : seconds * 1000)
  return new Client(url, { key, tries, timeout: ms(timeout), backoff: ms(backoff), maxWait: ms(max_wait) })
}

// script starts a server that gives the answers of a row in rows.json, in order.
async function script(t, answers) {
  const log = [], sent = [], times = []
  const server = createServer(async (request, response) => {
    const answer = answers[times.push(performance.now()) - 1] ?? 'lost'
    log.push(`${request.method} ${request.url} ${show(answer)}`)
    const received = await text(request)
    sent.push(received)
    const [status, headers = {}, body, fault] = typeof answer === 'string' ? [0, {}, '', answer] : [answer].flat()
    if (status) {
      const raw = typeof body === 'string', { ...head } = typeof headers === 'string' ? { 'Retry-After': headers } : headers
      let content = Buffer.from(raw ? body : JSON.stringify(body) ?? (received || '{}'), raw ? 'latin1' : 'utf8')
      if (!request.headers['accept-encoding']?.includes('gzip')) delete head['Content-Encoding']
      if (head['Content-Encoding']) content = gzipSync(content)
      response.writeHead(status, { 'Content-Length': content.length, ...head })
      if (!fault) return response.end(content)
      await new Promise(written => response.write(content.subarray(0, 4), written))
      for (const byte of fault === 'trickle' ? content.subarray(4) : []) {
        await sleep(300)
        response.write(Buffer.of(byte))
      }
    }
    if (fault === 'reset') request.socket.resetAndDestroy()
    if (fault === 'lost' || fault === 'cut') request.socket.destroy()
  })
  t.after(() => server.close())
  t.after(() => server.closeAllConnections())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return { url: `http://127.0.0.1:${server.address().port}`, times, sent, stop: async () => log }
}

// end returns how a call or a list ends, and what the caller gets.
async function end(client, server, method, path, body, signal) {
  const got = []
  try {
    if (method !== 'LIST') return ['success', await client.call(method, path, body, signal)]
    for await (const record of client.list(path, signal)) {
      if (!got.length) await sleep(100)
      got.push([record, server.times.length]) // with the number of requests until now
    }
    return ['success', got]
  } catch (error) {
    if (signal.aborted && error === signal.reason) return ['cancelled']
    if (error instanceof NoResponse) return ['no response', got]
    if (!(error instanceof APIError)) return [`${error}`, got]
    return [`${error.status.toFixed()}${error.code ? ` ${error.code}` : ''}: ${error.message}`, got]
  }
}

// near compares the last waits, in seconds. One may be longer, since machines are busy.
function near(times, want) {
  const waits = times.slice(1).map((time, i) => (time - times[i]) / 1000).slice(-want.length)
  const good = !times[1] || want.every((w, i) => waits[i] < 1.5 * w + 0.9 && (w === 0 || waits[i] > 0.9 * w - 0.1))
  assert(good, `waited ${waits} s, not ${want} s`)
}

// cancel cancels a call soon after its request.
async function cancel(controller, server, requests) {
  while (server.times.length < requests) await sleep(50, undefined, { ref: false })
  setTimeout(() => controller.abort(Error('enough')), 200)
}

// check makes the calls of a row, and compares how they end, the requests, and the waits.
async function check(t, [{ flags, options, base = '', url }, ...once]) {
  const calls = once.flatMap(([...call]) => Array(call[3]?.times ?? 1).fill([...call, {}].slice(0, 4)))
  const server = flags ? await petstore(t, ...flags) : await script(t, calls.flatMap(([, answers]) => answers))
  const clients = new Map(calls.map(([, , , { options: own = options }]) =>
    [JSON.stringify(own), newClient(url ?? server.url + base, own)]))
  const lines = [], sent = [], ended = [], patience = new AbortController()
  for (const [request, answers, want, more] of calls) {
    const [method, path = '/a'] = request.split(' '), last = answers.at(-1)
    const client = clients.get(JSON.stringify(more.options ?? options))
    const text = JSON.stringify(more.body) ?? (/^P/.test(method) ? long : undefined), body = parse(text)
    const controller = want === 'cancelled' ? new AbortController() : patience
    if (controller !== patience) cancel(controller, server, lines.length + 1)
    const [how, got] = await end(client, server, method, path, body, controller.signal)
    ended.push(performance.now())
    assert(how.startsWith(want), `${request}: ${how}, not ${want}`)
    if (how === 'cancelled')
      equal(`${request} again`, await end(client, server, method, path, body, controller.signal), [how])
    else if (more.ids) equal(request, got.map(([{ id }]) => id).join(' '), more.ids)
    else if (method === 'LIST')
      equal(`${request}: records, and requests until each`, got, answers.flatMap((answer, i) =>
        (answer[0] === 200 ? answer[2].map(record => [record, lines.length + i + 1]) : [])))
    else if (!flags && how === 'success' && method !== 'DELETE') {
      equal(`${request}: the caller's object`, body, parse(text))
      equal(`${request}: the result`, got, Array.isArray(last) ? last[2] : parse(text) ?? {})
    }
    answers.forEach((answer, i) => {
      lines.push(`${method} ${more.paths?.[i] ?? base + path} ${show(answer)}`.replace('LIST', 'GET'))
      sent.push(text ?? '')
    })
  }
  equal('the requests and answers', await server.stop(), lines)
  if (!flags) sent.forEach((body, i) => equal(`${lines[i].slice(0, 200)}: the body`, server.sent[i], body))
  for (const [i, [, answers, , { waits = [] }]] of calls.entries()) {
    const times = [...server.times.splice(0, answers.length), ended[i]]
    near(times, waits.length < answers.length ? [...waits, 0] : waits) // there is no wait after the last try
  }
}

const row = (rule, f) => it(rule, { timeout: 30_000 }, f)

describe('a client', { concurrency: 8 }, () => {
  for (const [rule, rows] of Object.entries(JSON.parse(readFileSync('rows.json'))))
    row(rule, t => Promise.all(rows.map(data => check(t, data))))
  row('lists more than 1000 pages, also in a loop over a list', async t => {
    const numbers = Array.from(Array(1100), (_, i) => i), got = [], pairs = []
    const { url } = await script(t, [...numbers.map(i => [200, { Link: `</${i}>; rel="next"` }, [i]]), [200, {}, [1100]]])
    for await (const number of newClient(url).list('/')) got.push(number)
    assert.deepEqual(got, [...numbers, 1100])
    const client = newClient((await petstore(t)).url)
    for await (const pet of client.list('/pets?limit=2'))
      for await (const category of client.list('/categories?limit=3')) pairs.push(`${pet.id}-${category.id}`)
    assert.deepEqual(pairs, [1, 2, 3, 4, 5].flatMap(pet => [1, 2, 3, 4].map(category => `${pet}-${category}`)))
  })
  row('eight callers share one client, and none waits for another', async t => {
    const slow = [200, {}, ['A'.repeat(16)], 'trickle'], names = [...'BCDEFGH'], controller = new AbortController()
    const server = await script(t, [slow, slow, ...Array(7).fill([503, '1']), ...Array(7).fill(200)])
    const client = newClient(server.url, { timeout: 20 }), signals = [undefined, controller.signal]
    const [first, twin] = signals.map(signal => client.call('GET', '/a', undefined, signal))
    twin.catch(() => {}) // it is awaited later
    await sleep(500)
    assert.deepEqual(await Promise.all(names.map(name => client.call('PUT', '/a', name))), names)
    controller.abort(Error('enough'))
    await assert.rejects(twin, { message: 'enough' }) // so it has not ended before
    assert.deepEqual(await first, slow[2])
  })
})
