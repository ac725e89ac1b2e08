// Brings what is asked for into view, and leaves what is in view where it is.
import { $ } from './draw.js'
const rectOf = part => part.getBoundingClientRect(), enough = 180 // pixels of an answer: its status, some lines
let lastTouch = 0 // when the reader last did something
for (const event of ['wheel', 'touchmove', 'pointerdown', 'keydown'])
  addEventListener(event, ({ timeStamp }) => { lastTouch = timeStamp }, { passive: true })
/** hasGoneOn tells whether the reader has done something since: then nothing is to move. */
export const hasGoneOn = since => lastTouch > since
/** reveal scrolls until the head of a panel is in view and, if it is asked for, enough of its answer beneath
 * the head, which stays at the upper edge: of the page, or of the box that scrolls beside the text. A header
 * that scrolls away, on a short screen, covers nothing.
 * @param {{ form: any, head: any, answer: any, scroller: any }} panel @param {boolean} [withAnswer] */
export function reveal({ form, head, answer, scroller }, withAnswer) {
  const bar = Math.max(0, rectOf($('header')).bottom), { top, bottom, height } = rectOf(head)
  if (top < bar - 2 || bottom > innerHeight) scrollBy(0, rectOf(form).top - bar - 8)
  for (const [box, edge] of withAnswer ? [[scroller, rectOf(scroller).top], [window, bar]] : []) {
    const { top, bottom } = rectOf(answer)
    if (top < rectOf(head).bottom - 2 || Math.min(bottom, top + enough) > innerHeight)
      box.scrollBy(0, top - edge - height)
  }
}
