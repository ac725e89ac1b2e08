// The demo keys of the server, if it has no others, and the plans of the description.
import demoKeys from '/docs/keys.json' with { type: 'json' }
import { api } from './description.js'
export { demoKeys }

const demoOf = key => demoKeys.find(demo => demo.key === key) ?? {}
export function planOf(key) {
  const { plan } = demoOf(key)
  return plan ? plan[0].toUpperCase() + plan.slice(1) : key ? 'Your key' : 'No key'
}
export const limitOf = key => ({ ...api.info['x-plans'][demoOf(key).plan], ...demoOf(key) }).perMinute
