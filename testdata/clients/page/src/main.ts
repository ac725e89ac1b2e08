import type { components } from './api'

const api = (window as { petstore?: string }).petstore ?? 'http://localhost:8080'
const headers = { 'X-API-Key': 'demo-free', 'Content-Type': 'application/json' }
const response = await fetch(`${api}/pets/1`, { headers })
const pet: components['schemas']['Pet'] = await response.json()

function show(status: string) {
  document.querySelector('p')!.textContent = `${pet.name}: ${status}`
}

document.querySelector('button')!.onclick = async () => {
  show('sold')
  const body = JSON.stringify({ ...pet, status: 'sold' })
  const response = await fetch(`${api}/pets/1`, { method: 'PUT', headers, body })
  if (!response.ok) show(pet.status)
}
show(pet.status)
