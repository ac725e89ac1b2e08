// Counts down. Without an end to come, no timer runs.
export const clock = new EventTarget() // a tick each time that the whole seconds until an end change
let due = Infinity, timer = 0
/** remaining returns the milliseconds until an end. Who asks hears the ticks until then.
 * @param {number} end @returns {number} */
export function remaining(end) {
  const now = Date.now(), left = end - now, next = left > 0 ? now + (left % 1000 || 1000) : Infinity
  if (next < due) {
    due = next
    clearTimeout(timer)
    timer = setTimeout(() => { due = Infinity; clock.dispatchEvent(new Event('tick')) }, next - now)
  }
  return left
}
