// A client that passes the tests beside it.
import got, { HTTPError, ParseError } from 'got'

// APIError is a response that is an error, or does not come from the API: then it has no code.
export class APIError extends Error {
  name = 'APIError'
  constructor({ statusCode, body }) {
    super(body?.message ?? 'the response does not come from the API')
    this.status = statusCode
    this.code = body?.code
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
      if (!isResponse(error)) context.lost = true
      if (attemptCount === tries) return 0
      if (isResponse(error) && retryAfter) return retryAfter <= maxWait ? retryAfter : 0 // it was not carried out
      const refused = isResponse(error) && error.response.statusCode < 500
      if (refused || method === 'POST' || method === 'PATCH') return 0
      return Math.min(backoff * 2 ** (attemptCount - 1), maxWait)
    }
    this.#got = got.extend({
      prefixUrl: url,
      headers: { 'X-API-Key': key },
      timeout: { request: timeout }, // of each try
      retry: { limit: tries, calculateDelay: delay },
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
    try {
      return await this.#got(path.slice(1), { method, json, signal })
    } catch (error) {
      signal?.throwIfAborted()
      if (!isResponse(error)) throw new NoResponse(error.message, { cause: error })
      const { response, options: { context } } = error
      if (method === 'DELETE' && context.lost && response.statusCode === 404) return {} // the lost one deleted it
      throw new APIError(response)
    }
  }
}

const isResponse = error => error instanceof HTTPError || error instanceof ParseError

// parseJson reads an integer of more than 15 digits, which a number may not hold exactly, as a BigInt.
const parseJson = text => JSON.parse(
  text.replace(/"(\\.|[^"\\])*"|\d{16,}/g, part => (part[0] === '"' ? part : `{"integer":"${part}"}`)),
  (_, value) => (value?.integer ? BigInt(value.integer) : value))
