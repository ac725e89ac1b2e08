import type { components } from './api'

type Pet = components['schemas']['Pet']

const api = (window as { petstore?: string }).petstore ?? 'http://localhost:8080'
const headers = { 'X-API-Key': 'demo-free', 'Content-Type': 'application/json' }
const list = document.querySelector('ul')!

// show puts a pet in its line, with a button that sells it at once, and takes that back if the
// server refuses.
function show(line: HTMLElement, pet: Pet) {
  const status: string = pet.status
  const sell = document.createElement('button')
  sell.textContent = `Sell ${pet.name}`
  sell.onclick = async () => {
    const sold: Pet = { ...pet, status: 'sold' }
    show(line, sold)
    const body = JSON.stringify(sold)
    const response = await fetch(`${api}/pets/${pet.id}`, { method: 'PUT', headers, body })
    if (!response.ok) show(line, pet)
  }
  line.replaceChildren(`${pet.name}: ${status} `, sell)
}

const pets: Pet[] = await (await fetch(`${api}/pets`, { headers })).json()
for (const pet of pets) show(list.appendChild(document.createElement('li')), pet)
