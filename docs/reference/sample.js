// Draws the code of a request in the chosen language. A hidden key is not shown, but copied.
import { copyButton, el, setText } from './draw.js'
import { samples } from './samples.js'
import { changes, drawChoices, settings } from './settings.js'

// drawSample returns the elements, and a function that draws the code anew. requestFor makes the request with a key.
export function drawSample(requestFor) {
  const pre = el('pre', { tabindex: '0', role: 'group', 'aria-label': 'Code' })
  const languages = el('div', { class: 'choices', role: 'group', 'aria-label': 'Language', 'data-setting': 'language' })
  const codeWith = key => samples[settings.language](requestFor(key))
  const draw = () => {
    const { key, hidesKey } = settings, code = codeWith(hidesKey ? '•'.repeat(key.length) : key)
    setText(pre, code.length < 5000 ? code : `${code.slice(0, 500)} …\n\nCopy has all of it.`)
  }
  for (const setting of ['key', 'hidesKey', 'language']) changes.addEventListener(setting, draw)
  drawChoices(languages)
  languages.append(copyButton('Copy', pre, () => codeWith(settings.key)))
  return { parts: [languages, pre], draw }
}
