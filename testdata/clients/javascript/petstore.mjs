// Starts the program petstore, from your PATH, for one test.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

process.env.no_proxy = process.env.NO_PROXY = '127.0.0.1'

export default async function petstore(t, ...flags) {
  const log = [], requests = [], times = []
  let server, marks = 0
  t.after(() => {
    server?.kill('SIGKILL')
    if (!t.passed) console.error(['The log of the server:', ...log].join('\n'))
  })
  const args = ['-addr', '127.0.0.1:0', '-data', '', '-v', ...flags]
  server = spawn('petstore', args, { stdio: ['ignore', 'ignore', 'pipe'] })
  const ended = once(server, 'close') // or an error: there is no such program
  const lines = createInterface(server.stderr).on('line', line => {
    log.push(line)
    const [, method, path, outcome] = line.match(/ ([A-Z]+) "(.*)" (.*) \S+$/) ?? []
    if (!method || method === 'OPTIONS' || path.startsWith('/healthz')) return
    times.push(performance.now())
    requests.push(`${method} ${path} ${outcome}`)
  })
  await Promise.race([once(lines, 'line'), ended])
  const url = log[0]?.match(/^Petstore API: (.*)/)?.[1]
  if (!url) throw Error(log[0])
  return {
    url,
    times,
    async requests() {
      const mark = `/healthz?${++marks}` // is logged after all that has had a response
      await fetch(url + mark)
      while (!log.some(line => line.includes(`"${mark}"`))) await once(lines, 'line')
      return [...requests]
    },
    async stop() {
      server.kill()
      await ended
      return [...requests]
    },
  }
}
