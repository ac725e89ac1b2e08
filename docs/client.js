// Makes a request of what a form holds, and sends it. Nothing here touches the page.
import { checkServer, measure } from './limits.js'

// makeRequest takes the values of the inputs, and what a mistake adds that no input can hold.
export function makeRequest({ path, inputs, ...operation }, values, key, added) {
  const query = new URLSearchParams(added?.query), headers = key ? { Authorization: `Bearer ${key}` } : {}
  let target = path
  for (const { name, in: place, content } of inputs) {
    const value = values[name]
    if (place === 'path') target = target.replace(`{${name}}`, encodeURIComponent(value))
    else if (place === 'body') headers['Content-Type'] = Object.keys(content)[0]
    else if (value && place === 'header') headers[name] = value
    else if (value) query.append(name, value)
  }
  const url = location.origin + target + (query.size ? `?${query}` : ''), method = added?.method ?? operation.method
  return { method, url, headers: { ...headers, ...added?.headers }, body: values.body }
}

const gone = 'The server cannot be reached; check that it is running.'
const cut = 'The server closed the connection, and is still there. The request may have been carried out: look at the'
  + ' records before you send it again.'

function parse(text) {
  try { return JSON.parse(text) } catch { return text }
}

export async function call({ url, ...options }) {
  const start = Date.now(), sent = { method: options.method, path: url.slice(location.origin.length) }
  let response, text
  try {
    const signal = AbortSignal.timeout(30_000)
    response = await fetch(url, { ...options, cache: 'no-store', credentials: 'omit', signal })
    text = await response.text()
  } catch (error) {
    if (error.name === 'TimeoutError') return { ...sent, failure: 'It took more than 30 seconds.' }
    return { ...sent, failure: await checkServer() ? cut : gone }
  }
  const { status, statusText, headers } = response
  const body = headers.get('Content-Type')?.startsWith('application/json') ? parse(text) : text
  measure(options.headers.Authorization?.slice('Bearer '.length) ?? '', { status, headers, body })
  return { ...sent, status, statusText, headers, body, took: Math.max(1, Date.now() - start) }
}
