import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'

export default async function petstore(t, ...flags) {
  const server = spawn('petstore', ['-addr', '127.0.0.1:0', '-data', '', '-v', ...flags])
  t.after(() => server.kill('SIGKILL'))
  let log = ''
  server.stderr.on('data', data => (log += data))
  await once(server.stderr, 'data')
  server.url = log.match(/^Petstore API: (.*)/)?.[1]
  assert(server.url, log) // why it did not start
  server.requests = async () => {
    server.kill()
    await once(server, 'close')
    return log.split(' "/').length - 1
  }
  return server
}
