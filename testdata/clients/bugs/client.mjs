// The client of docs/testing.md with the bug that BUG names, or without one.
import got from 'got'

const bugs = {
  'no timeout': { timeout: { request: undefined } },
  'no retry': { retry: { limit: 0 } },
  'only one retry': { retry: { limit: 1 } },
  'no end of tries': { retry: { limit: Infinity } },
  'a lost POST is retried': { retry: { methods: ['GET', 'PUT', 'POST'] } },
  'a timed-out GET is not retried': { retry: { errorCodes: ['ECONNRESET'] } },
  'a PUT is not retried': { retry: { methods: ['GET'] } },
  'a 429 is final': { retry: { statusCodes: [503] } },
  'no wait longer than a second': { retry: { maxRetryAfter: undefined } },
  'Retry-After is ignored': { retry: { calculateDelay: ({ computedValue }) => computedValue && 20 } },
  'an error is no error': { throwHttpErrors: false },
}

export default got
  .extend({
    headers: { 'X-API-Key': 'demo-free' },
    timeout: { request: 1000 },
    retry: { limit: 4, maxRetryAfter: 60_000 },
  })
  .extend(bugs[process.env.BUG] ?? {})
