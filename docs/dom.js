// Makes elements. What comes from the server becomes text nodes, not HTML: a pet may be named <img>.
export const $ = (selector, root = document) => root.querySelector(selector)
export const all = (selector, root = document) => [...root.querySelectorAll(selector)]

export function el(name, attributes = {}, ...children) {
  const element = document.createElement(name)
  for (const [attribute, value] of Object.entries(attributes)) element.setAttribute(attribute, value)
  element.append(...children)
  return element
}

export const button = (text, onclick, kind = 'quiet') =>
  Object.assign(el('button', { type: 'button', class: kind }, text), { onclick })
export const setText = (element, text) => { if (element.textContent !== text) element.textContent = text }

let buttons = 0
// tellApart names each button below an element after that element's heading, too: no two have one name.
export function tellApart(root, heading) {
  for (const button of all('button', root)) {
    button.id ||= `button-${++buttons}`
    button.setAttribute('aria-labelledby', `${button.id} ${heading}`)
  }
}

// fold keeps what is long out of the way on a small screen; the style sheet says which is.
export function fold(title, gist, ...content) {
  const isSmall = getComputedStyle(document.documentElement).getPropertyValue('--small-screen')
  const summary = el('summary', {}, el('h5', {}, title), el('small', {}, gist))
  return Object.assign(el('details', { class: 'fold' }, summary, ...content), { open: !isSmall })
}

// copyButton works without a clipboard, too: over plain HTTP, except on localhost, a page has none.
export function copyButton(source, textOf) {
  const copy = button('Copy', () => {
    getSelection().selectAllChildren(source)
    addEventListener('copy', event => {
      event.clipboardData.setData('text/plain', textOf())
      event.preventDefault()
    }, { once: true })
    copy.textContent = document.execCommand('copy') ? 'Copied' : 'Not copied'
    getSelection().removeAllRanges()
    setTimeout(() => { copy.textContent = 'Copy' }, 2000)
  }, 'copy quiet')
  return copy
}
