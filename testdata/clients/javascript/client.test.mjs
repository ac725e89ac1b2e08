import assert from 'node:assert/strict'
import test from 'node:test'
import client from './client.mjs'
import petstore from './petstore.mjs'

for (const [rule, flags, method, path, succeeds, requests] of [
  ['waits after two 503s', ['-fail', '2/3'], 'PUT', 'categories/1', true, 3],
  ['gives up in the end', ['-fail', '1/1'], 'GET', 'pets', false, 5],
  ['does not retry a lost POST', ['-drop', '1/2'], 'POST', 'categories', false, 1],
  ['retries a timed-out GET', ['-delay', '2s', '-slow', '1/2'], 'GET', 'pets', true, 2],
]) {
  test(rule, { timeout: 20_000 }, async t => {
    const server = await petstore(t, ...flags)
    const options = { method, json: method === 'GET' ? undefined : { name: 'Birds' } }
    const response = client(`${server.url}/${path}`, options)
    await (succeeds ? response : assert.rejects(response))
    assert.equal(await server.requests(), requests)
  })
}

test('waits after a 429', { timeout: 20_000 }, async t => {
  const server = await petstore(t, '-minute', '2s')
  for (let i = 0; i < 100; i++) await client(`${server.url}/pets`)
  assert.equal(await server.requests(), 101)
})
