// A client that passes the tests beside it.
import { randomUUID } from 'node:crypto'
import got, { HTTPError, ParseError } from 'got'

// APIError is a response that is an error, or does not come from the API: then it has no code.
export class APIError extends Error {
  name = 'APIError'
  constructor({ statusCode, body }) {
    const { code, message } = typeof body?.message === 'string' ? body : {}
    super(message ?? 'the response does not come from the API')
    this.status = statusCode
    this.code = code
  }
}

// NoResponse means that nobody knows what became of a request.
export class NoResponse extends Error {
  name = 'NoResponse'
}

export default class Client {
  #got
  constructor(url, { key = 'demo-free', timeout = 5000, tries = 5, backoff = 500, maxWait = 600_000 } = {}) {
    // delay decides whether a request is sent again (not if it returns 0), and when.
    const delay = ({ attemptCount, error, retryAfter }) => {
      const { method, context } = error.options
      if (attemptCount === tries) return 0
      if (isResponse(error) && retryAfter > 0) return retryAfter <= maxWait ? retryAfter : 0 // it was not carried out
      const refused = isResponse(error) && error.response.statusCode < 500
      if (refused || method === 'POST' || method === 'PATCH') return 0
      context.unsure = true // it may have been carried out
      return Math.min(backoff * 2 ** (attemptCount - 1), maxWait)
    }
    this.#got = got.extend({
      prefixUrl: url,
      headers: { 'X-API-Key': key, 'Content-Type': 'application/json' },
      timeout: { request: timeout }, // of each try
      retry: { limit: tries, calculateDelay: delay },
      followRedirect: false, // the API has none
      responseType: 'json',
      parseJson,
    })
  }

  async call(method, path, json, signal) {
    return (await this.#send(method, path, json, signal)).body
  }

  // list yields the records on a page of a list, and on all pages after it.
  async *list(path, signal) {
    while (path) {
      const { body, headers } = await this.#send('GET', path, undefined, signal)
      yield* body
      path = headers.link?.match(/<([^>]*)>; rel="next"/)?.[1] // which begins behind the base URL
    }
  }

  async #send(method, path, json, signal) {
    const body = json === undefined ? undefined : stringifyJson(json)
    let response
    try {
      response = await this.#got(path.slice(1), { method, body, signal })
    } catch (error) {
      signal?.throwIfAborted()
      if (!isResponse(error)) throw new NoResponse(error.message, { cause: error })
      const { options: { context } } = error
      if (method === 'DELETE' && context.unsure && error.response.statusCode === 404) return {} // a try before deleted it
      throw new APIError(error.response)
    }
    const { statusCode, rawBody } = response
    if (statusCode > 299 || (statusCode !== 204 && rawBody.length === 0)) throw new APIError(response)
    return response
  }
}

const isResponse = error => error instanceof HTTPError || error instanceof ParseError

// A number holds each integer of up to 15 digits exactly. A longer one is a BigInt, which is a
// string with a mark where JSON.parse and JSON.stringify are used.
const mark = `${randomUUID()} `
const parseJson = text => JSON.parse(
  text.replace(/"[^"\\]*(\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g, part => (/^-?\d{16,}$/.test(part) ? `"${mark}${part}"` : part)),
  (_, value) => (typeof value === 'string' && value.startsWith(mark) ? BigInt(value.slice(mark.length)) : value))
const stringifyJson = value => JSON.stringify(value,
  (_, part) => (typeof part === 'bigint' ? mark + part : part)).replaceAll(new RegExp(`"${mark}(-?\\d+)"`, 'g'), '$1')
