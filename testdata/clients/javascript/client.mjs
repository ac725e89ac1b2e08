// A client that passes the tests beside it.
import got from 'got'

export default got.extend({
  headers: { 'X-API-Key': 'demo-free' },
  timeout: { request: 1000 },
  retry: { limit: 4, maxRetryAfter: 60_000 },
})
