// Sends a request again and again, until a status comes that takes more than one. Nothing here touches the page.
import { reading } from './limits.js'

const pause = (ms, signal) => new Promise(resolve => {
  setTimeout(resolve, ms)
  signal.addEventListener('abort', resolve)
})

// repeat sends until the status comes. It ends before that if it is stopped, if another refusal comes, or if a new
// window begins. Once the key is refused, each second is a strike, and the tenth is a ban.
export async function repeat(send, { until, key, signal, tell }) {
  for (let count = 1, strikes = 0; ; count++) {
    const before = reading(key), entry = await send(), { status } = entry, { left, until: end } = reading(key)
    if (status === 429) strikes++
    tell(strikes && until === 403 ? `strike ${Math.min(10, strikes)} of 10` : `${count} sent`)
    const finish = note => ({ ...entry, count, note })
    if (signal.aborted || status === until || !status || [401, 403].includes(status)) return finish()
    if (strikes && status !== 429) return finish('The window passed, so the strikes are cleared.')
    if (count > 1 && left >= before.left && !strikes) return finish('The window passed first; a new one began.')
    if (until === 503 && count === 10) return finish('No 503 came. Start the server with -fail 1/2 to see one.')
    if (strikes && until !== 403) return finish()
    const ms = end - 1000 - Date.now() // or more: the server rounds an end up
    if (strikes) await pause(1050, signal)
    else if (ms / left > 36) await pause(Math.min(40, ms / left / 4), signal) // so that it is seen
    if (signal.aborted) return finish()
  }
}
