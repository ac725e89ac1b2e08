// Makes requests, sends them, and remembers what the server said about each key. Nothing here touches the page.

// A browser may forbid storage; the page then works without it.
export function recall(storage, name) {
  try { return JSON.parse(globalThis[storage].getItem(name)) } catch { return null }
}
export function remember(storage, name, value) {
  try { globalThis[storage].setItem(name, JSON.stringify(value)) } catch {}
}

// --- What is left of the limit of each key ---
// The session remembers it, so that a wait goes on after a reload; other tabs are told, since they share the limit.
const readings = recall('sessionStorage', 'readings') ?? {}
const tabs = new BroadcastChannel('readings')
export const newReading = new EventTarget()
export const limitHeaders = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset']

// reading says how much is left: before the first response ("new"), in a window, during a wait, or once that is over.
export function reading(key) {
  const last = readings[key] ?? { state: 'new', limit: 1, left: 1 }
  if (last.until <= Date.now()) return { ...last, state: 'over', left: last.limit, waiting: false }
  return { ...last, waiting: last.state === 'wait' || last.state === 'banned' }
}

function keep(key, last) {
  readings[key] = last
  remember('sessionStorage', 'readings', readings)
  newReading.dispatchEvent(new Event('change'))
}

tabs.onmessage = ({ data }) => {
  if (data.key) keep(data.key, data.reading)
  else for (const key of Object.keys(readings)) tabs.postMessage({ key, reading: readings[key] })
}
tabs.postMessage('Which readings are there?')

function measure(key, { status, headers, body }) {
  const [limit, left, reset, wait] = [...limitHeaders, 'Retry-After'].map(name => Number(headers.get(name)))
  if (!limit) return
  const state = body?.code === 'key_banned' ? 'banned' : status === 429 ? 'wait' : left > limit / 5 ? 'open' : 'low'
  const now = Date.now(), difference = now - Date.parse(headers.get('Date')), before = reading(key)
  const skew = Math.abs(difference) > 2000 ? difference - 1000 : 0 // of the clocks; the header is cut to whole seconds
  const until = state === 'wait' || state === 'banned' ? now + wait * 1000 : reset * 1000 + skew
  const since = before.waiting ? before.since : now
  keep(key, { limit, left, state, since, until })
  tabs.postMessage({ key, reading: readings[key] })
}

// A restart begins every window anew. So a server that is gone ends every wait.
export const checkServer = () => fetch('/healthz', { cache: 'no-store' }).catch(() => {
  for (const key of Object.keys(readings)) keep(key)
})

// --- Requests ---
export function makeRequest({ path, method, inputs }, values, key, extra) {
  const query = new URLSearchParams(extra?.query), headers = key ? { Authorization: `Bearer ${key}` } : {}
  let target = path
  for (const { name, in: place, content } of inputs) {
    const value = values[name]
    if (place === 'path') target = target.replace(`{${name}}`, encodeURIComponent(value))
    else if (place === 'body') headers['Content-Type'] = Object.keys(content)[0]
    else if (value && place === 'header') headers[name] = value
    else if (value) query.append(name, value)
  }
  Object.assign(headers, extra?.headers)
  return { method, url: location.origin + target + (query.size ? `?${query}` : ''), headers, body: values.body }
}

export async function call({ url, ...options }) {
  const start = Date.now(), sent = { method: options.method, path: url.slice(location.origin.length) }
  const key = options.headers.Authorization?.slice('Bearer '.length) ?? ''
  try {
    const signal = AbortSignal.timeout(30_000)
    const response = await fetch(url, { ...options, cache: 'no-store', credentials: 'omit', signal })
    const { status, statusText, headers } = response, text = await response.text()
    const body = headers.get('Content-Type')?.startsWith('application/json') ? JSON.parse(text) : text
    measure(key, { status, headers, body })
    return { ...sent, status, statusText, headers, body, took: Math.max(1, Date.now() - start) }
  } catch (error) {
    const known = { TimeoutError: 'It took more than 30 seconds.', SyntaxError: 'The response is not valid JSON.' }
    return { ...sent, failure: known[error.name] ?? 'The server cannot be reached; check that it is running.' }
  }
}

// --- The same request in other languages, ready to run ---
// literal quotes a text; several lines stay lines, unless they hold what is special in the language.
const literal = (text, mark, special) =>
  text.includes('\n') && !special.test(text) ? mark + text + mark : JSON.stringify(text)

export const samples = {
  curl({ method, url, headers, body }) {
    const quote = text => `'${text.replaceAll("'", `'\\''`)}'` // a shell cannot escape within single quotes
    const lines = Object.entries(headers).map(([name, value]) => `-H ${quote(`${name}: ${value}`)}`)
    if (body !== undefined) lines.push(`--data-raw ${quote(body)}`)
    return [method === 'GET' ? 'curl -i' : `curl -i -X ${method}`, quote(url), ...lines].join(' \\\n  ')
  },
  JavaScript: ({ method, url, headers, body }) => `fetch("${url}", {
  method: "${method}",
  headers: ${JSON.stringify(headers, null, 2).replaceAll('\n', '\n  ')},${body === undefined ? '' : `
  body: ${literal(body, '`', /[`\\$]/)},`}
}).then(async response => {
  console.log(response.status, await response.text())
})`,
  Python: ({ method, url, headers, body }) => `from http import client

connection = client.${url.startsWith('https') ? 'HTTPSConnection' : 'HTTPConnection'}("${new URL(url).host}")
connection.request("${method}", "${url.slice(new URL(url).origin.length)}",
  headers=${JSON.stringify(headers, null, 2).replaceAll('\n', '\n  ')}${body === undefined ? '' : `,
  body=${literal(body, "'''", /'|\\/)}.encode()`})
response = connection.getresponse()
print(response.status, response.read().decode())`,
  Go: ({ method, url, headers, body = '' }) => `package main

import (
	"log"
	"net/http"
	"os"
	"strings"
)

func main() {
	request, err := http.NewRequest("${method}", "${url}", strings.NewReader(${literal(body, '`', /`/)}))
	if err != nil {
		log.Fatal(err)
	}${Object.entries(headers).map(([name, value]) => `
	request.Header.Set("${name}", ${JSON.stringify(value)})`).join('')}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	response.Write(os.Stdout)
}`,
}
