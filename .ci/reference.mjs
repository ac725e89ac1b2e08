// Uses the reference in a real browser, as a person does, and the server behind it: whatever is tried, is tried
// through the page. Screenshots go into the folder given as an argument. CHROMIUM names the browser, if need be.
import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import { chromium } from 'playwright-core'

const root = fileURLToPath(new URL('..', import.meta.url)), pictures = process.argv[2]
const temp = mkdtempSync(join(tmpdir(), 'petstore-')), binary = join(temp, 'petstore.exe') // .exe for Windows
let server
process.on('exit', () => { // Playwright ends the browser itself
  server?.kill('SIGKILL')
  rmSync(temp, { recursive: true, force: true })
})
const quit = reason => { console.error(`reference.mjs: ${reason?.stack ?? reason}`); process.exit(1) }
for (const event of ['SIGHUP', 'SIGINT', 'SIGTERM', 'uncaughtException']) process.on(event, quit)
setTimeout(quit, 300_000, 'not finished after 5 minutes').unref()

execFileSync('go', ['build', '-o', binary, '.'], { cwd: root, stdio: 'inherit' })
server = spawn(binary, ['-addr', 'localhost:0', '-data', join(temp, 'data.json')], { stdio: ['ignore', 'ignore', 'pipe'] })
const base = await new Promise((resolve, reject) => {
  let output = ''
  server.stderr.on('data', chunk => {
    const address = (output += chunk).match(/Petstore API: (http\S+)\n/)?.[1]
    if (address) resolve(address)
  })
  server.on('exit', () => reject(new Error(`the server ended: ${output}`)))
})
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', chromiumSandbox: process.getuid?.() !== 0,
})

const failures = [], strayed = [], logged = [], provoked = []
let passed = 0
function check(what, got, wanted = true) {
  if (isDeepStrictEqual(got, wanted)) passed++
  else failures.push(`${what}: ${JSON.stringify(got)}, not ${JSON.stringify(wanted)}`)
}

async function open({ key = 'demo-business', width = 1280, scheme = 'light' } = {}) {
  const context = await browser.newContext({
    viewport: { width, height: 800 }, colorScheme: scheme, permissions: ['clipboard-read', 'clipboard-write'],
  })
  context.setDefaultTimeout(10_000)
  context.on('request', request => new URL(request.url()).origin === base || strayed.push(request.url()))
  context.on('console', message => logged.push(message.text()))
  context.on('weberror', error => logged.push(String(error.error())))
  context.on('dialog', dialog => { logged.push(`dialog ${dialog.message()}`); dialog.dismiss() })
  const page = await context.newPage()
  await page.clock.install()
  await page.addInitScript(() => {
    globalThis.shifted = 0
    new PerformanceObserver(list => { for (const entry of list.getEntries()) if (!entry.hadRecentInput) shifted += entry.value })
      .observe({ type: 'layout-shift', buffered: true })
  })
  await page.goto(base)
  await page.getByLabel('API key').fill(key)
  return page
}

// look takes a picture, runs axe, and sees whether the page is wider than the screen.
const axe = readFileSync(join(root, '.ci/node_modules/axe-core/axe.min.js'), 'utf8')
async function look(page, name) {
  if (pictures) await page.screenshot({ path: join(pictures, `${name}.png`) })
  await page.evaluate(axe)
  const { violations } = await page.evaluate(() => globalThis.axe.run({ resultTypes: ['violations'] }))
  check(`axe on ${name}`, violations.map(({ id, nodes }) => `${id}: ${nodes[0].html}`), [])
  check(`${name} is wider than the screen by`, await page.evaluate(() => document.documentElement.scrollWidth - innerWidth), 0)
}

const part = (page, id) => page.locator(`article#${id}`)
const body = async article => JSON.parse(await article.locator('.answer pre').textContent())

// send fills the form of an operation, sends it, and returns the status and the body of the answer.
async function send(page, id, values = {}) {
  const article = part(page, id)
  for (const [name, value] of Object.entries(values)) {
    const field = article.getByLabel(name, { exact: true })
    if (await field.evaluate(element => element.matches('select'))) await field.selectOption(value)
    else await field.fill(typeof value === 'object' ? JSON.stringify(value) : value)
  }
  return answer(page, article, () => article.getByRole('button', { name: 'Send' }).click())
}

async function answer(page, article, act) {
  const [response] = await Promise.all([page.waitForResponse(response => !response.url().startsWith(`${base}/docs/`)), act()])
  if (response.status() >= 400) provoked.push(response.status())
  await article.locator('form:not(.busy)').waitFor()
  return [response.status(), await article.locator('.answer pre').count() ? await body(article) : undefined]
}

// --- What the page shows ---
const page = await open()
const groups = 'Pets, Animals, Categories, Store, Orders, Inventory'.split(', ')
check('the groups', await page.locator('nav .group').allTextContents(), groups)
const api = JSON.parse(readFileSync(join(root, 'docs/openapi.json')))
const operations = Object.entries(api.paths).flatMap(([path, item]) => Object.entries(item).map(([method, { operationId, summary }]) =>
  ({ operationId, summary, address: `${method.toUpperCase()} ${path}` })))
for (const { operationId, summary, address } of operations) {
  const link = await page.locator(`nav a[href="#${operationId}"]`).textContent()
  check(`${operationId} in the navigation`, [link.includes(summary), link.includes(address)], [true, true])
  check(`${operationId} on the page`, await part(page, operationId).locator('h4').textContent(), summary)
}
const badges = ['Deprecated until 5 December 2030', 'Beta', 'Experimental']
for (const place of ['nav', 'main']) check(`badges in ${place}`, await page.locator(`${place} .badge`).allTextContents(), badges)
check('no try-out of listOrders', await part(page, 'listOrders').locator('form, input, button').count(), 0)
check('listOrders says so', /no try-out/.test(await part(page, 'listOrders').textContent()))
check('the one form that is missing', await page.locator('form').count(), operations.length - 1)

// --- Trying it ---
const name = '<img src=x onerror=alert(1)>'
check('a category', await send(page, 'createCategory'), [201, { id: 5, name: 'Birds', description: 'From canaries to parrots' }])
check('a pet', await send(page, 'createPet', { body: { name, categoryId: 5 } }), [201, { id: 6, name, categoryId: 5, status: 'available' }])
check('its name is text', await part(page, 'createPet').locator('.answer pre').getByText(name).count(), 1)
check('no image', await page.locator('img').count(), 0)
check('its Location', await part(page, 'createPet').getByRole('row', { name: 'Location' }).locator('td').last().textContent(), '/pets/6')
check('an order', (await send(page, 'createOrder', { body: { petId: 6 } }))[1], { id: 3, petId: 6, complete: false })
const pets = await send(page, 'listPets', { limit: '2', status: '', categoryId: '' })
check('a page', pets[1].map(({ id }) => id), [1, 2])
const list = part(page, 'listPets'), next = list.getByRole('button', { name: 'Next page' })
check('the next page', (await answer(page, list, () => next.click()))[1].map(({ id }) => id), [3, 4])
check('its parameters', [await list.getByLabel('after').inputValue(), await list.getByLabel('limit').inputValue()], ['2', '2'])
check('the last page', (await answer(page, list, () => next.click()))[1].map(({ id }) => id), [5, 6])
check('and none after it', await next.count(), 0)
check('nothing there', (await send(page, 'getPet', { petId: '999' }))[0], 404)
check('its Sunset', await part(page, 'getPet').getByRole('row', { name: 'Sunset' }).count(), 1)
check('an order is cancelled', await send(page, 'cancelOrder'), [204, undefined])

// --- What it refuses to send ---
let sent = 0
page.on('request', () => sent++)
for (const [id, field, value, fault] of [
  ['listPets', 'limit', '101', 'limit must be 1 to 100.'],
  ['listPets', 'limit', '1.0', 'limit must be of the type integer.'],
  ['getPet', 'petId', '', 'petId is required.'],
  ['getPet', 'petId', '9223372036854775808', 'petId must be an integer of 64 bits.'],
  ['createPet', 'body', '{"name": "Pip"}', 'categoryId is missing.'],
  ['createPet', 'body', '{"name": " ", "categoryId": 1}', 'name must be 1 to 200 characters, matching \\S.'],
  ['createPet', 'body', '{"name": "Pip", "categoryId": 1.0}', 'categoryId must be of the type integer (int64).'],
  ['createPet', 'body', '{"name": "Pip", "categoryId": 1, "status": "lost"}', 'status must be one of available, pending, sold.'],
  ['createOrder', 'body', '{"shipDate": "tomorrow"}', 'shipDate must be a date-time such as 2026-12-01T12:00:00Z.'],
  ['createOrder', 'body', '{"petId": null}', 'petId must be of the type integer (int64).'],
]) {
  const input = part(page, id).getByLabel(field, { exact: true })
  await input.fill(value)
  await part(page, id).getByRole('button', { name: 'Send' }).click()
  check(`${value} refused`, await page.locator(`#${id}-${field}-fault`).textContent(), fault)
  check(`${value} focused`, await input.evaluate(element => [element === document.activeElement, element.ariaInvalid]), [true, 'true'])
}
check('nothing sent', sent, 0)

// --- The curl line ---
const quoted = `{"name": "D'Artagnan $HOME \\"!\\" \\\\", "categoryId": 5}`
await part(page, 'createPet').getByLabel('body').fill(quoted)
await part(page, 'createPet').getByRole('button', { name: 'Copy' }).click()
await part(page, 'createPet').getByRole('button', { name: 'Copied' }).waitFor()
const run = line => execFileSync('bash', ['-c', line], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
const created = run(await page.evaluate(() => navigator.clipboard.readText()))
check('curl creates', [/^HTTP\/1.1 201/.test(created), JSON.parse(created.split('\r\n\r\n')[1]).name], [true, JSON.parse(quoted).name])
await list.getByLabel('limit').fill('1')
check('curl lists', /^HTTP\/1.1 200[^]*rel="next"/.test(run(await list.locator('.curl pre').textContent())))

// --- The place, and the key ---
await page.locator('nav a[href="#getCategory"]').click()
await part(page, 'listPets').locator('summary').first().evaluate(element => element.click())
await page.mouse.wheel(0, 150)
await sleep(500)
const place = () => part(page, 'getCategory').evaluate(element => Math.round(element.getBoundingClientRect().top))
const before = await place()
await page.reload()
await sleep(500)
check('the place after a reload', Math.abs(await place() - before) <= 5 || [before, await place()])
check('marked in the navigation', await page.locator('nav [aria-current]').getAttribute('href'), '#getCategory')
check('the key after a reload', await page.getByLabel('API key').inputValue(), 'demo-business')
check('the key is kept for the session alone', await page.evaluate(() => [localStorage.length, document.cookie]), [0, ''])
await page.getByLabel('API key').fill('wrong')
check('a wrong key', (await send(page, 'getCategory'))[0], 401)
await page.context().close()

// --- By the keyboard alone ---
const typist = await open()
const focused = () => typist.evaluate(() => {
  const { id, href, outerHTML } = document.activeElement
  return { id, href, visible: getComputedStyle(document.activeElement).outlineStyle !== 'none' || outerHTML }
})
const tabTo = async wanted => {
  for (let i = 0; i < 80; i++) {
    await typist.keyboard.press('Tab')
    const { id, href, visible } = await focused()
    if (visible !== true) check('the focus is visible', visible)
    if (wanted(id, href)) return passed++
  }
  check(`reached ${wanted}`, false)
}
await tabTo((_, href) => href?.endsWith('#createCategory'))
await typist.keyboard.press('Enter')
await tabTo(id => id === 'createCategory-body')
await typist.keyboard.press('Control+A')
await typist.keyboard.type('{"name": "Fish"}')
await typist.keyboard.press('Tab')
const typed = await answer(typist, part(typist, 'createCategory'), () => typist.keyboard.press('Enter'))
check('sent by the keyboard', [typed[0], typed[1].name], [201, 'Fish'])
await typist.context().close()

// --- The meter ---
const trainer = await open({ key: 'wrong' })
await trainer.getByRole('button', { name: 'Free' }).click()
const meter = trainer.locator('.meter'), lists = part(trainer, 'listPets'), button = lists.locator('.send')
const state = () => meter.getAttribute('data-state')
check('no request yet', await state(), 'new')
await lists.scrollIntoViewIfNeeded()
for (let left = 59; left >= 0; left--) {
  await send(trainer, 'listPets')
  if (left % 20 === 19) check(`${left} left`, await meter.locator('strong').textContent(), `${left} of 60 left`)
}
check('spent', [await meter.getByRole('meter').getAttribute('aria-valuenow'), await button.isDisabled()], ['0', false])
check('over the limit', (await send(trainer, 'listPets'))[0], 429)
check('the wait', [await state(), /wait \d+\ss/.test(await meter.textContent())], ['wait', true])
const disabled = () => trainer.locator('.send').evaluateAll(buttons => buttons.every(button => button.disabled))
check('Send is disabled', await disabled())
const width = () => meter.locator('i').evaluate(element => Math.round(element.getBoundingClientRect().width))
await look(trainer, 'wait')
await trainer.reload()
check('Send is disabled after a reload', await disabled())
await sleep(500)
check('the bar is empty', await width(), 0)
await trainer.getByRole('button', { name: 'Pro' }).click()
check('another key', [await state(), await disabled()], ['new', false])
await trainer.getByRole('button', { name: 'Free' }).click()
check('and back', [await state(), await disabled()], ['wait', true])
await trainer.clock.fastForward(61_000) // the page's clock alone
await button.and(trainer.locator(':enabled')).waitFor()
check('Send is back', [await button.textContent(), await state()], ['Send', 'over'])
for (let strike = 0; strike < 12; strike++) await sleep(1000).then(() => fetch(`${base}/pets`, { headers: { 'X-API-Key': 'demo-free' } }))
check('banned', [(await send(trainer, 'listPets'))[0], await state(), await disabled()], [403, 'banned', true])
check('for minutes', /Key banned.*wait 4\smin \d+\ss/.test(await meter.textContent()) || await meter.textContent())
await look(trainer, 'banned')
await trainer.context().close()

// --- Both schemes, on a screen and on a phone ---
for (const scheme of ['light', 'dark']) for (const width of [1280, 360]) {
  const page = await open({ scheme, width })
  check('layout shift', await page.evaluate(() => shifted), 0)
  await look(page, `${scheme}-${width}`)
  await send(page, 'listPets', { limit: '1', status: '', categoryId: '' })
  await part(page, 'getPet').getByLabel('petId').fill('x')
  await part(page, 'getPet').getByRole('button', { name: 'Send' }).click()
  await page.evaluate(() => { for (const details of document.querySelectorAll('details')) details.open = true })
  await look(page, `${scheme}-${width}-opened`)
  check('the meter is in view', await page.locator('.meter').evaluate(element => element.getBoundingClientRect().top >= 0))
  await page.context().close()
}

check('requests to other origins', strayed, [])
const failed = /^Failed to load resource: the server responded with a status of (\d+) /
check('the console', logged.map(text => Number(text.match(failed)?.[1]) || text), provoked)
await browser.close()
for (const failure of failures) console.log(failure)
console.log(`${passed} passed, ${failures.length} failed`)
process.exit(failures.length ? 1 : 0)
