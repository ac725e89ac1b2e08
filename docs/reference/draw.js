// Draws elements and prose. What comes from the server becomes text nodes: a pet may be named <img>.
export const $ = (selector, root = document) => root.querySelector(selector)
export const all = (selector, root = document) => [...root.querySelectorAll(selector)]
export const setText = (element, text) => { if (element.textContent !== text) element.textContent = text }

export function el(name, attributes = {}, ...children) {
  const element = document.createElement(name)
  for (const [attribute, value] of Object.entries(attributes)) element.setAttribute(attribute, value)
  element.append(...children)
  return element
}
export const button = (text, onclick, kind = 'quiet') =>
  Object.assign(el('button', { type: 'button', class: kind }, text), { onclick })
export const link = (id, ...content) => el('a', { href: `#${id}` }, ...content)
export const drawMethod = method => el('b', { class: `method ${method}` }, method)
export const drawStatus = (status, text = status) => el('b', { class: status < 400 ? 'good' : 'bad' }, text)

// drawStrikes draws ten dots, of which the strikes are filled.
export function drawStrikes(count, limit) {
  const dots = Array.from({ length: limit }, (_, i) => el('i', i < count ? { class: 'hit' } : {}))
  return el('span', { class: 'strikes' }, ...dots, `${count} of ${limit} strikes`)
}

// fold keeps what is long out of the way on a phone. On a wider screen it is a heading with what belongs to it.
const phone = matchMedia('(width < 40rem)')
export function fold(title, ...content) {
  const summary = el('summary', {}, el('h5', {}, title)), details = el('details', { class: 'fold' }, summary, ...content)
  const adapt = () => {
    details.open = !phone.matches
    summary.tabIndex = phone.matches ? 0 : -1
  }
  phone.addEventListener('change', adapt)
  adapt()
  return details
}

const drawCode = text => el('code', text.length < 30 ? { class: 'short' } : {}, text) // which no line breaks
export const inline = text => text.split(/`([^`]+)`/).map((part, i) => i % 2 ? drawCode(part) : part)
// prose draws the Markdown of the description: paragraphs, tables and `code`.
export function prose(text = '') {
  return text.split('\n\n').filter(Boolean).map(block => {
    if (!block.startsWith('|')) return el('p', {}, ...inline(block))
    const [head, , ...rows] = block.split('\n').map(row => row.split('|').slice(1, -1).map(cell => inline(cell.trim())))
    return table(head, rows)
  })
}
export function table(head, rows) {
  const top = el('tr', {}, ...head.map(content => el('th', { scope: 'col' }, ...content)))
  const body = rows.map(cells => el('tr', {}, ...cells.map(content => el('td', {}, ...content))))
  return el('table', {}, el('thead', {}, top), el('tbody', {}, ...body))
}
