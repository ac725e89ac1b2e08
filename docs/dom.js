// Small tools: elements, and what the browser keeps. Texts of the server become text nodes: a pet may be named <img>.
export const $ = (selector, root = document) => root.querySelector(selector)
export const all = (selector, root = document) => [...root.querySelectorAll(selector)]
export const setText = (element, text) => { if (element.textContent !== text) element.textContent = text }
export const button = (text, onclick, kind = 'quiet') =>
  Object.assign(el('button', { type: 'button', class: kind }, text), { onclick })

export function el(name, attributes = {}, ...children) {
  const element = document.createElement(name)
  for (const [attribute, value] of Object.entries(attributes)) element.setAttribute(attribute, value)
  element.append(...children)
  return element
}

// fold keeps what is long out of the way on a small screen; the style sheet says which is.
export function fold(title, gist, ...content) {
  const isSmall = getComputedStyle(document.documentElement).getPropertyValue('--small-screen')
  const summary = el('summary', {}, el('h5', {}, title), el('small', {}, gist))
  return Object.assign(el('details', { class: 'fold' }, summary, ...content), { open: !isSmall })
}

let buttons = 0
// tellApart names each button after a heading, too, so that no two have one name.
export function tellApart(root, heading) {
  for (const button of all('button:not([aria-label])', root)) {
    button.id ||= `button-${++buttons}`
    button.setAttribute('aria-labelledby', `${button.id} ${heading}`)
  }
}

// copyButton works without a clipboard, too: over plain HTTP, except on localhost, a page has none.
export const copyButton = (name, source, textOf) => button(name, ({ target }) => {
  getSelection().selectAllChildren(source)
  addEventListener('copy', event => {
    event.clipboardData.setData('text/plain', textOf())
    event.preventDefault()
  }, { once: true })
  target.textContent = document.execCommand('copy') ? 'Copied' : 'Not copied'
  getSelection().removeAllRanges()
  setTimeout(() => { target.textContent = name }, 2000)
}, 'copy quiet')

// The browser keeps things under names of the page's own. It may forbid that; the page then works without.
export function recall(storage, name) {
  try { return JSON.parse(globalThis[storage].getItem(`petstore.${name}`)) } catch { return null }
}
export function remember(storage, name, value) {
  try { globalThis[storage].setItem(`petstore.${name}`, JSON.stringify(value)) } catch {}
}
