// Runs the test of a web page that docs/testing.md prints, with the program petstore on the PATH.
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { expect, test } from 'playwright/test'
const webPage = `<body><script type="module">
  for (let response; !response?.ok; ) {
    response = await fetch(petstore + '/pets', { headers: { 'X-API-Key': 'demo-free' } })
    if (response.ok) document.body.append(await response.text())
    else await new Promise(resolve => setTimeout(resolve, 1000 * response.headers.get('Retry-After')))
  }
</script>`
const server = createServer((_, response) => response.end(webPage)).listen(0, 'localhost').unref()
await once(server, 'listening')

const document = readFileSync(join(import.meta.dirname, '../docs/testing.md'), 'utf8')
const file = join(import.meta.dirname, `.printed-${process.pid}.mts`)
writeFileSync(file, document.match(/^```ts\n(.*?)^```/ms)[1]
  .replace('./petstore.mjs', '../testdata/clients/javascript/petstore.mjs')
  .replace('5173', server.address().port))
process.on('exit', () => rmSync(file))
await import(file)
test('its types', () => {
  test.skip(test.info().project.name !== 'chromium', 'once is enough')
  const tsc = join(import.meta.dirname, 'node_modules/.bin/tsc')
  const { stdout } = spawnSync(tsc, ['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', file])
  expect(String(stdout)).toBe('')
})
