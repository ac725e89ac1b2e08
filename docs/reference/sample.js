// Draws the code of a request in the chosen language. A key of a keys file is not shown, but copied.
import { drawCode } from './code.js'
import { el } from './draw.js'
import { demoKeys } from './limits.js'
import { samples } from './samples.js'
import { changes, drawChoices, settings } from './settings.js'

// drawSample returns the elements, and a function that draws the code anew. requestFor makes the request with a key.
export function drawSample(requestFor) {
  const codeWith = key => samples[settings.language](requestFor(key))
  const languages = el('div', { class: 'choices', role: 'group', 'aria-label': 'Language' })
  const [box, put] = drawCode(() => codeWith(settings.key))
  const draw = () => {
    const code = codeWith(demoKeys.length ? settings.key : '•'.repeat(settings.key.length))
    put(code.length < 5000 ? code : `${code.slice(0, 500)} …\n\nCopy has all of it.`)
  }
  changes.addEventListener('language', draw)
  drawChoices(languages, 'language')
  return { parts: [languages, box], draw }
}
