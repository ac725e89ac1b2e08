// Uses the reference in a real browser, as a person does, with a real server: whatever is tried is tried through the
// page. Screenshots go into the directory given as an argument. CHROMIUM names the browser, if need be.
import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
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
server = spawn(binary, ['-addr', 'localhost:0', '-data', join(temp, 'data.json')],
  { stdio: ['ignore', 'ignore', 'pipe'] })
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

const failures = [], strayed = [], requested = new Set(), logged = [], provoked = []
let passed = 0
function check(what, got, wanted = true) {
  if (isDeepStrictEqual(got, wanted)) passed++
  else failures.push(`${what}: ${JSON.stringify(got)}, not ${JSON.stringify(wanted)}`)
}

// newPage opens an empty page that counts what nobody should see: layout shifts, timers and writes to the document.
async function newPage({ width = 1280, height = 800, scheme = 'light', context } = {}) {
  context ??= await browser.newContext({
    viewport: { width, height }, colorScheme: scheme, permissions: ['clipboard-read', 'clipboard-write'],
  })
  context.setDefaultTimeout(10_000)
  const page = await context.newPage()
  page.on('request', request => {
    const { origin, pathname } = new URL(request.url())
    requested.add(pathname)
    if (origin !== base) strayed.push(request.url())
  })
  page.on('console', message => logged.push(message.text()))
  page.on('pageerror', error => logged.push(String(error)))
  page.on('dialog', dialog => { logged.push(`dialog ${dialog.message()}`); dialog.dismiss() })
  await page.clock.install()
  await page.addInitScript(() => {
    globalThis.counts = { shifted: 0, timers: 0, writes: 0 }
    new PerformanceObserver(list => {
      for (const entry of list.getEntries()) if (!entry.hadRecentInput) counts.shifted += entry.value
    })
      .observe({ type: 'layout-shift', buffered: true })
    for (const name of ['setTimeout', 'setInterval', 'requestAnimationFrame']) {
      const original = globalThis[name]
      globalThis[name] = (...args) => { counts.timers++; return original(...args) }
    }
    new MutationObserver(records => { counts.writes += records.length })
      .observe(document, { subtree: true, childList: true, characterData: true, attributes: true })
  })
  return page
}

async function open({ key = 'demo-business', ...options } = {}) {
  const page = await newPage(options)
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
  check(`${name} is wider than the screen by`,
    await page.evaluate(() => document.documentElement.scrollWidth - innerWidth), 0)
}

const part = (page, id) => page.locator(`article#${id}`)
const press = (place, name) => place.getByRole('button', { name, exact: true })
const outcome = article => article.locator('form [role=status]').textContent()

// fill fills the form of an operation; send also sends it, and returns the status and the body of the response.
async function fill(article, values) {
  for (const [name, value] of Object.entries(values)) {
    const field = article.getByLabel(name, { exact: true })
    if (await field.evaluate(element => element.matches('select'))) await field.selectOption(value)
    else await field.fill(typeof value === 'object' ? JSON.stringify(value) : value)
  }
}

async function send(page, id, values = {}) {
  const article = part(page, id)
  await fill(article, values)
  return responseTo(page, article, () => press(article, 'Send').click())
}

async function responseTo(page, article, act) {
  const [response] = await Promise.all([
    page.waitForResponse(response => !response.url().startsWith(`${base}/docs/`)), act()
  ])
  if (response.status() >= 400) provoked.push(response.status())
  await article.locator('form:not(.busy)').waitFor()
  const shown = article.locator('.response pre')
  return [response.status(), await shown.count() ? JSON.parse(await shown.textContent()) : undefined]
}

// --- What the page shows ---
const page = await open()
const groups = 'Pets, Animals, Categories, Store, Orders, Inventory'.split(', ')
check('the groups', await page.locator('nav .group').allTextContents(), groups)
const api = JSON.parse(readFileSync(join(root, 'docs/openapi.json')))
const operations = Object.entries(api.paths).flatMap(([path, item]) => Object.entries(item).map(([method, operation]) =>
  ({ ...operation, address: `${method.toUpperCase()} ${path}` })))
for (const { operationId, summary, address, responses } of operations) {
  const link = await page.locator(`nav a[href="#${operationId}"]`).textContent()
  check(`${operationId} in the navigation`, [link.includes(summary), link.includes(address)], [true, true])
  const article = part(page, operationId), text = await article.textContent()
  check(`${operationId} on the page`, await article.locator('h4').textContent(), summary)
  const own = Object.keys(responses).filter(status => !['401', '403', '429', '500'].includes(status))
  check(`${operationId}: its own statuses`, await article.locator('details details summary b').allTextContents(), own)
  check(`${operationId}: the others`, text.includes('Also 401, 403, 429, 500: see Errors'))
  check(`${operationId}: no shared header`, text.includes('X-RateLimit'), false)
}
const badges = ['Deprecated, removed after 5 December 2030', 'Beta', 'Experimental']
for (const place of ['nav', 'main'])
  check(`badges in ${place}`, await page.locator(`${place} .badge`).allTextContents(), badges)
check('no try-out of listOrders', await part(page, 'listOrders').locator('form, input, button').count(), 0)
check('listOrders says so', /no try-out/.test(await part(page, 'listOrders').textContent()))
check('the one form that is missing', await page.locator('form').count(), operations.length - 1)

const chapters = [...api.info.description.matchAll(/^## (.*)/gm)].map(([, title]) => title)
for (const title of chapters) {
  const href = await page.locator('nav').getByRole('link', { name: title, exact: true }).getAttribute('href')
  check(`the chapter ${title}`, await page.locator(`${href} h2`).textContent(), title)
}
check('one column of chapters', (await page.locator('#overview > section').evaluateAll(sections =>
  new Set(sections.map(section => section.getBoundingClientRect().left)).size)), 1)
check('the shared statuses', await page.locator('#errors summary b').allTextContents(), ['401', '403', '429', '500'])
const served = await (await fetch(`${base}/openapi.json`)).json()
for (const fact of [served.servers[0].variables.base_url.default, 'openapi.json', api.info.license.name])
  check(`${fact} at the top`, (await page.locator('.facts').textContent()).includes(fact))

const marked = () => page.locator('nav [aria-current]').getAttribute('href')
check('the overview is marked at first', await marked(), '#overview')
await page.locator('nav a[href="#errors"]').click()
await page.locator('nav [href="#errors"][aria-current]').waitFor()
await page.evaluate(() => scrollTo(0, 0))
await page.locator('nav [href="#overview"][aria-current]').waitFor()

// --- Trying it ---
check('the log is empty', await page.locator('aside').getByText('The requests you send are listed here').isVisible())
check('optional parameters are empty',
  await part(page, 'listPets').locator('[name]').evaluateAll(all => all.map(({ value }) => value)), ['', '', '', ''])
check('an example is a placeholder', await part(page, 'listPets').getByLabel('limit').getAttribute('placeholder'), '20')
check('the first response', (await send(page, 'listPets'))[1].length, 5)

const tries = page.locator('figure button')
const provocable = ['400', '404', '409', '413', '415']
const resolve = node => node.$ref ? resolve(node.$ref.slice(2).split('/').reduce((at, name) => at[name], api)) : node
check('errors to try', await tries.count(), operations.filter(operation => !operation['x-hideTryItPanel'])
  .flatMap(({ responses }) => Object.entries(responses)).filter(([status]) => provocable.includes(status))
  .flatMap(([, response]) => Object.keys(resolve(response).content['application/json'].examples)).length)
const errors = await tries.evaluateAll(buttons => buttons.map(button => ({
  name: button.textContent, id: button.closest('article').id, caption: button.parentElement.firstChild.textContent,
  example: JSON.parse(button.parentElement.querySelector('pre').textContent),
})))
for (const [i, { name, id, caption, example }] of errors.entries()) {
  const article = part(page, id)
  const [status, { code }] = await responseTo(page, article, () => tries.nth(i).evaluate(button => button.click()))
  check(`${id}: ${caption}`, [`Try this error: ${status}`, code], [name, example.code])
  check(`${id}: ${caption}, as shown`, (await outcome(article)).slice(0, 3), `${example.status}`)
}
await page.reload()

const name = '<img src=x onerror=alert(1)>'
const creating = part(page, 'createCategory')
const bodyOf = article => article.getByLabel('body').inputValue().then(JSON.parse)
check('an example chosen',
  [await press(creating, 'All fields').click(), await bodyOf(creating)].pop(),
  { name: 'Birds', description: 'From canaries to parrots' })
await creating.getByRole('group', { name: 'Examples' }).getByRole('button').nth(1).click()
check('another example', await bodyOf(creating), { name: 'Birds' })
await press(creating, 'All fields').click()
check('a category',
  await send(page, 'createCategory'), [201, { id: 5, name: 'Birds', description: 'From canaries to parrots' }])
check('a pet',
  await send(page, 'createPet', { body: { name, categoryId: 5 } }),
  [201, { id: 6, name, categoryId: 5, status: 'available' }])
check('its name is text', await part(page, 'createPet').locator('.response pre').getByText(name).count(), 1)
check('no image', await page.locator('img').count(), 0)
const offered = await page.locator('#getInventory-petId')
  .evaluate(input => [...input.list.options].map(({ value }) => value))
check('its id is offered', offered, ['6'])
const location = part(page, 'createPet').getByRole('row', { name: 'Location' }).locator('td').last()
check('its Location', await location.textContent(), '/pets/6')
await location.getByRole('link').click()
check('leads to the pet',
  [new URL(page.url()).hash, ...await Promise.all(['getPet', 'replacePet', 'deletePet', 'getInventory']
  .map(id => part(page, id).getByLabel('petId').inputValue()))], ['#getPet', '6', '6', '6', '1'])
check('the pet', (await send(page, 'getPet'))[1].name, name)
check('an order', (await send(page, 'createOrder', { body: { petId: 6 } }))[1], { id: 3, petId: 6, complete: false })
const pets = await send(page, 'listPets', { limit: '2', status: '', categoryId: '' })
check('a page', pets[1].map(({ id }) => id), [1, 2])
const list = part(page, 'listPets'), next = press(list, 'Next page')
check('the next page', (await responseTo(page, list, () => next.click()))[1].map(({ id }) => id), [3, 4])
check('its parameters',
  [await list.getByLabel('after').inputValue(), await list.getByLabel('limit').inputValue()], ['2', '2'])
check('the last page', (await responseTo(page, list, () => next.click()))[1].map(({ id }) => id), [5, 6])
check('and none after it', await next.count(), 0)
check('nothing there', (await send(page, 'getPet', { petId: '999' }))[0], 404)
check('its Sunset', await part(page, 'getPet').getByRole('row', { name: 'Sunset' }).count(), 1)
check('an order is cancelled', await send(page, 'cancelOrder'), [204, undefined])
await list.getByLabel('after').fill('0')
check('sent with Ctrl+Enter', (await responseTo(page, list, () => page.keyboard.press('Control+Enter')))[0], 200)

// --- Recent requests ---
const log = page.locator('aside'), rows = log.locator('tbody tr')
check('the log is outside the operations',
  [await log.getByText('Recent requests').count(), await page.locator('main aside').count()], [1, 0])
check('newest first',
  (await rows.locator('td:nth-child(2)').allTextContents()).slice(0, 4), ['GET', 'DELETE', 'GET', 'GET'])
check('what it says',
  (await rows.first().locator('td').allTextContents()).map(text => text.replace(/\d\d:\d\d:\d\d|9\d\d/, '')),
  ['', 'GET', '/pets?limit=2&after=0', '200', ''])
check('the statuses', (await rows.locator('td:nth-child(4)').allTextContents()).slice(0, 3), ['200', '204', '404'])
await press(rows.nth(9), '/categories').click()
check('a response again', JSON.parse(await creating.locator('.response pre').textContent()).name, 'Birds')
await log.locator('summary').click()
check('folded', await rows.first().isVisible(), false)
await log.locator('summary').click()

// --- What it refuses to send ---
let sent = 0
page.on('request', () => sent++)
for (const [id, field, value, error] of [
  ['listPets', 'limit', '101', 'limit must be 1 to 100.'],
  ['listPets', 'limit', '1.0', 'limit must be an integer.'],
  ['getPet', 'petId', '', 'petId is required.'],
  ['getPet', 'petId', '9223372036854775808', 'petId must be a 64-bit integer.'],
  ['createPet', 'body', '{"name": "Pip"}', 'categoryId is missing.'],
  ['createPet', 'body', '{"name": " ", "categoryId": 1}', 'name must be 1 to 200 characters, not blank.'],
  ['createPet', 'body', '{"name": "Pip", "categoryId": 1.0}', 'categoryId must be an integer (int64).'],
  ['createPet', 'body', '{"name": "Pip", "categoryId": 1, "status": "lost"}',
    'status must be one of available, pending, sold.'],
  ['createOrder', 'body', '{"shipDate": "tomorrow"}', 'shipDate must be a date-time such as 2026-12-01T12:00:00Z.'],
  ['createOrder', 'body', '{"petId": null}', 'petId must be an integer (int64).'],
]) {
  const article = part(page, id), input = article.getByLabel(field, { exact: true })
  await input.fill(value)
  await press(article, 'Send').click()
  check(`${value} refused`, await page.locator(`#${id}-${field}-error`).textContent(), error)
  check(`${value} focused`,
    await input.evaluate(element => [element === document.activeElement, element.ariaInvalid]), [true, 'true'])
  check(`${value}: nothing of the former response`,
    [/^Not sent/.test(await outcome(article)), await article.locator('.response *').count()], [true, 0])
}
check('nothing sent', sent, 0)
for (const article of [part(page, 'getPet'), part(page, 'createPet')]) {
  await article.locator('[aria-invalid=true]').fill('{"name": "O\'Malley", "categoryId": 1}')
  check('a change clears what was wrong', await article.locator('[aria-invalid=true], .error:not(:empty)').count(), 0)
}
await press(page, 'JavaScript').first().click()
const code = await part(page, 'getPet').locator('.sample pre').textContent()
check('a quotation mark in a path', code.includes(`"${base}/pets/%7B%22name%22%3A%20%22O'Malley%22`) || code)
await press(page, 'curl').first().click()

// --- When there is no response ---
await page.route(`${base}/categories/*`, route => route.abort())
await press(part(page, 'getCategory'), 'Send').click()
await part(page, 'getCategory').getByText('cannot be reached').waitFor()
await page.unroute(`${base}/categories/*`)
await page.getByLabel('API key').fill('schlüssel')
await press(part(page, 'getCategory'), 'Send').click()
await part(page, 'getCategory').getByText('key cannot be sent').waitFor()
check('nothing is sent with it', sent, 1)
await page.route(`${base}/inventory`, route => sleep(1000).then(() => route.continue()))
await press(page.locator('header'), 'Business').click()
await press(part(page, 'listInventory'), 'Send').click()
await part(page, 'listInventory').getByText('Waiting for the response').waitFor()
await part(page, 'listInventory').getByText('200 OK').waitFor()

// --- The same request in other languages ---
const quoted = `{\n  "name": "D'Artagnan $HOME \\"!\\" \\\\ \`é\`",\n  "categoryId": 5\n}`
const run = (command, ...args) =>
  execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
const go = join(temp, 'main.go')
const runners = {
  curl: text => run('bash', '-c', `${text} -s`),
  JavaScript: text => run('node', '-e', text),
  Python: text => run('python3', '-c', text),
  Go: text => [writeFileSync(go, text), run('go', 'run', go)][1],
}
const pet = part(page, 'createPet')
await pet.getByLabel('body').fill(quoted)
await list.getByLabel('limit').fill('1')
for (const [language, run] of Object.entries(runners)) {
  await press(pet, language).click()
  await press(pet, 'Copy').click()
  await press(pet, 'Copied').waitFor()
  const created = run(await page.evaluate(() => navigator.clipboard.readText()))
  check(`${language} creates`,
    [created.includes('201'), JSON.parse(created.match(/{"id.*}/)[0]).name], [true, JSON.parse(quoted).name])
  const listed = run(await list.locator('.sample pre').textContent())
  check(`${language} lists`, [listed.includes('200'), JSON.parse(listed.match(/\[{"id.*\]/)[0]).length], [true, 1])
  await page.clock.fastForward(3000)
  await press(pet, 'Copy').waitFor()
}
check('long lines scroll',
  await pet.locator('.sample pre').evaluate(pre => [getComputedStyle(pre).whiteSpace, getComputedStyle(pre).overflowX]),
  ['pre', 'auto'])

// --- The place, and what is remembered ---
await page.locator('nav a[href="#getCategory"]').click()
await part(page, 'listPets').locator('summary').first().evaluate(element => element.click())
await page.mouse.move(600, 400)
await page.mouse.wheel(0, 150)
await sleep(500)
const place = () => part(page, 'getCategory').evaluate(element => Math.round(element.getBoundingClientRect().top))
const before = await place()
await page.reload()
await sleep(500)
check('the place after a reload', Math.abs(await place() - before) <= 5 || [before, await place()])
check('marked in the navigation', await marked(), '#getCategory')
check('the key after a reload', await page.getByLabel('API key').inputValue(), 'demo-business')
check('the language after a reload', /^package main/.test(await list.locator('.sample pre').textContent()))
const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor)
const white = 'rgb(255, 255, 255)', black = 'rgb(17, 21, 27)'
for (const [scheme, color] of [['Dark', black], ['Light', white], ['Dark', black]]) {
  await press(page.locator('nav'), scheme).click()
  check(scheme, await background(), color)
}
await page.reload()
check('dark after a reload', await background(), black)
await press(page.locator('nav'), 'System').click()
check('as the system', await background(), white)
check('the key is kept for the session alone', await page.evaluate(() =>
  [Object.keys(localStorage).sort(), JSON.stringify(localStorage).includes('demo-'), document.cookie]),
  [['language', 'scheme'], false, ''])
const shown = async () => [
  await page.locator('#key').getAttribute('type'),
  (await list.locator('.sample pre').textContent()).includes('demo-business'),
]
check('the key is shown', await shown(), ['text', true])
await press(page, 'Hide key').click()
check('the key is hidden', await shown(), ['password', false])
await page.reload()
check('the key stays hidden', await shown(), ['password', false])
check('it is still sent', (await send(page, 'getCategory'))[0], 200)
await press(page, 'Show key').click()
check('the key is shown again', await shown(), ['text', true])
await page.getByLabel('API key').fill('Dark')
check('a key named like a scheme', await press(page, 'Dark').getAttribute('aria-pressed'), 'false')
await page.getByLabel('API key').fill('wrong')
check('a wrong key', (await send(page, 'getCategory'))[0], 401)

// --- On paper ---
await press(page, 'Dark').click()
await page.emulateMedia({ media: 'print' })
check('on white paper', await background(), white)
check('over its whole width', await page.locator('#createPet .about').evaluate(about => about.offsetWidth) > 1200)
check('no forms in print', await page.locator('form, button, input, nav, aside').locator('visible=true').count(), 0)
check('examples in print',
  await page.locator('figure').evaluateAll(all => all.every(
    figure => figure.checkVisibility({ contentVisibilityAuto: true }))))
await page.context().close()

// --- Finding one's way at each width ---
for (const width of [360, 768, 1024]) {
  const page = await open({ width, height: 640 }), nav = page.locator('nav'), menu = press(page, 'Menu')
  const opens = async () => { await menu.click(); return nav.isVisible() }
  await part(page, 'cancelOrder').scrollIntoViewIfNeeded()
  check(`the menu opens at ${width}`, [await nav.isVisible(), await opens()], [false, true])
  if (width === 360) await look(page, 'menu')
  await page.keyboard.press('Escape')
  check('Escape closes it', [await nav.isVisible(), await opens()], [false, true])
  await page.mouse.click(width - 10, 400)
  check('a tap outside closes it', [await nav.isVisible(), await opens()], [false, true])
  await nav.getByRole('link', { name: 'Errors' }).click()
  check('a choice closes it', [await nav.isVisible(), new URL(page.url()).hash], [false, '#errors'])
  if (width === 360) {
    const { height, sizes, apart } = await page.evaluate(() => ({
      height: document.documentElement.scrollHeight / 640,
      sizes: [...document.querySelectorAll('input, select, textarea')].map(
        element => getComputedStyle(element).fontSize),
      apart: document.querySelector('form').getBoundingClientRect().top
        - document.querySelector('.about').getBoundingClientRect().bottom,
    }))
    check('25 screens at most', height <= 25 || height)
    check('inputs of 16 px', [...new Set(sizes)], ['16px'])
    check('the try-out stands apart', apart >= 12 || apart)
    const cut = page.locator('textarea').evaluateAll(all =>
      all.filter(area => area.scrollHeight > area.clientHeight).length)
    check('no body is cut off', await cut, 0)
    check('numeric keyboards', await page.locator('[inputmode=numeric]').evaluateAll(all => all.map(({ name }) => name)
      .every(name => /limit|after|Id$/.test(name))))
  }
  await page.context().close()
}
const broad = await open({ width: 1920 })
check('the page is in the middle of a broad screen', await broad.evaluate(() => {
  const box = selector => document.querySelector(selector).getBoundingClientRect()
  return [box('header').width,
    Math.round(box('nav').left + box('.column').right - document.documentElement.clientWidth)]
}), [1920, 0])
const long = part(broad, 'createOrder')
await broad.setViewportSize({ width: 1280, height: 800 })
await long.locator('.also').evaluate(element => element.scrollIntoView({ block: 'end' }))
check('the try-out stays in view', await press(long, 'Send').evaluate(button => {
  const { top, bottom } = button.getBoundingClientRect()
  return top > 80 && bottom < innerHeight
}))
await broad.context().close()

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
const typed = await responseTo(typist, part(typist, 'createCategory'), () => typist.keyboard.press('Enter'))
check('sent by the keyboard', [typed[0], typed[1].name], [201, 'Fish'])
await typist.context().close()

// --- The meter ---
async function tryLimits() {
  const trainer = await open({ key: 'wrong' })
  await press(trainer, 'Free').click()
  const meter = trainer.locator('.meter'), lists = part(trainer, 'listPets')
  const [button, many, anyway, stop] = ['Send', 'Send until 429', 'Send anyway', 'Stop'].map(name => press(lists, name))
  const state = () => meter.getAttribute('data-state')
  const counts = () => trainer.evaluate(() => counts)
  const idle = async what => {
    await sleep(300)
    const { timers, writes } = await counts()
    await sleep(1500)
    check(`idle: ${what}`, [(await counts()).timers - timers, (await counts()).writes - writes], [0, 0])
  }
  check('no request yet', await state(), 'new')
  await lists.scrollIntoViewIfNeeded()
  await idle('before the first request')
  for (let left = 59; left >= 57; left--) {
    await send(trainer, 'listPets')
    check(`${left} left`, await meter.locator('strong').textContent(), `${left} of 60 left`)
  }
  check('the order of the buttons',
    await lists.locator('.actions button').locator('visible=true').allTextContents(), ['Send', 'Send until 429'])

  // A second tab with the same key shares the meter.
  const second = await open({ context: trainer.context(), key: 'demo-free' })
  await second.getByText('57 of 60 left').waitFor()
  await many.click()
  await second.getByText(/[1-4]. of 60 left/).waitFor()
  await stop.click()
  await lists.getByText(/after \d+ requests/).waitFor()
  const stopped = await meter.locator('strong').textContent()
  await sleep(300)
  check('stopped',
    [await meter.locator('strong').textContent(), await second.locator('.meter strong').textContent()],
    [stopped, stopped])
  const seen = new Set()
  trainer.on('response', async response => seen.add(response.status()))
  await many.click()
  await lists.getByText('429 Too Many Requests').waitFor()
  provoked.push(429)
  check('until 429',
    [[...seen], await state(), await meter.getByRole('meter').getAttribute('aria-valuenow')], [[200, 429], 'wait', '0'])
  check('the wait', /Wait \d+\ss/.test(await meter.textContent()))
  check('also in the other tab', await second.locator('.meter').getAttribute('data-state'), 'wait')
  await second.close()
  const fontSizes = await meter.locator('strong, span').evaluateAll(all =>
    all.map(element => parseFloat(getComputedStyle(element).fontSize)))
  check('its size', fontSizes[0] >= 24 && fontSizes[0] > fontSizes[1] || fontSizes)
  check('the reason below it, however long the wait', await meter.locator('strong, span').evaluateAll(
    ([head, rest]) => rest.getBoundingClientRect().top >= head.getBoundingClientRect().bottom))
  const disabled = () => trainer.locator('.send').evaluateAll(buttons => buttons.every(button => button.disabled))
  check('Send is held back', [await disabled(), await button.isVisible(), await anyway.isVisible()], [true, true, true])
  check('the focus goes on', await anyway.evaluate(element => element === document.activeElement))
  check('Send stands first',
    await lists.locator('.actions button').locator('visible=true').allTextContents(),
    ['Send', 'Send until 429', 'Send anyway'])
  const width = () => meter.locator('i').evaluate(element => element.getBoundingClientRect().width)
  const moves = async what => {
    await sleep(1200) // until the bar has come down
    const before = await width()
    await sleep(1500)
    check(`${what} moves`, await width() > before || [before, await width()])
  }
  await moves('the wait')
  await look(trainer, 'wait')
  await trainer.reload()
  check('Send is held back after a reload', await disabled())
  await press(trainer, 'Pro').click()
  check('another key', [await state(), await disabled()], ['new', false])
  await press(trainer, 'Free').click()
  check('and back', [await state(), await disabled()], ['wait', true])
  check('sent anyway', (await responseTo(trainer, lists, () => anyway.click()))[0], 429)
  await trainer.clock.fastForward(61_000) // only the page's clock
  await lists.locator('.send:enabled').waitFor()
  check('Send is back', [await state(), await anyway.isVisible()], ['over', false])
  check('it says so', await meter.getByRole('status').textContent(), 'You can send again')
  await idle('after the end of a window')
  check('over the limit again', (await send(trainer, 'listPets'))[0], 429)
  let last = 429
  for (let strike = 0; last === 429 && strike < 15; strike++) {
    await sleep(1000)
    last = (await responseTo(trainer, lists, () => anyway.click()))[0]
  }
  check('banned', [last, await state(), await disabled()], [403, 'banned', true])
  check('for minutes',
    /Wait [45]\smin \d+\ss.*banned: too many requests over the limit/.test(await meter.textContent())
      || await meter.textContent())
  check('it is announced', /^Wait .*banned/.test(await meter.getByRole('status').textContent()))
  await moves('the ban')
  await look(trainer, 'banned')
  await trainer.context().close()
}

// --- Both schemes, on a screen, a tablet and a phone ---
async function lookAround() {
  for (const scheme of ['light', 'dark']) for (const width of [1280, 768, 360]) {
    const page = await open({ scheme, width })
    check('layout shift', await page.evaluate(() => counts.shifted), 0)
    if (pictures) await page.screenshot({ path: join(pictures, `${scheme}-${width}.png`) })
    await send(page, 'listPets', { limit: '1' })
    await part(page, 'getPet').getByLabel('petId').fill('x')
    await press(part(page, 'getPet'), 'Send').click()
    await page.evaluate(() => { for (const details of document.querySelectorAll('details')) details.open = true })
    await look(page, `${scheme}-${width}-opened`)
    check('the meter is in view',
      await page.locator('.meter').evaluate(element => element.getBoundingClientRect().top >= 0))
    await page.context().close()
  }
}

await Promise.all([tryLimits(), lookAround()])

// --- Browsers and servers that lack something ---
const noisy = logged.length
for (const [what, url, response] of [
  ['no description', '/openapi.json', { status: 503, body: '' }],
  ['a script that the browser cannot read', '/docs/description.js',
    { contentType: 'text/javascript', body: 'import x from "y" wth {}' }],
]) {
  const page = await newPage()
  await page.route(base + url, route => route.fulfill(response))
  await page.goto(base)
  await page.getByText('The reference could not be drawn').waitFor()
  check(`${what}: a way on`, await page.getByRole('link', { name: 'openapi.json' }).first().isVisible())
  await page.context().close()
}
logged.length = noisy

const bare = await newPage()
await bare.addInitScript(() => {
  for (const name of ['localStorage', 'sessionStorage'])
    Object.defineProperty(globalThis, name, { get() { throw new Error(name) } })
})
const changed = structuredClone(served)
const inHeader = { name: 'X-Trace', in: 'header', description: '', schema: { type: 'string' } }
changed.paths['/categories'].get.parameters.push(inHeader)
await bare.route(`${base}/openapi.json`, route => route.fulfill({ json: changed }))
await bare.goto(base)
await press(bare, 'Business').click()
await fill(part(bare, 'listCategories'), { 'X-Trace': 'abc', limit: '1' })
const [traced] = await Promise.all([
  bare.waitForRequest(/categories/), press(part(bare, 'listCategories'), 'Send').click()
])
check('a parameter in the header', [traced.url(), traced.headers()['x-trace']], [`${base}/categories?limit=1`, 'abc'])
await part(bare, 'listCategories').getByText('200 OK').waitFor()
await press(bare, 'Dark').click()
await bare.context().close()

// --- What it costs ---
const files = ['/', '/docs/keys.json', '/docs/icon.svg',
  ...[...requested].filter(path => /^\/docs\/.*(js|css)$|^\/openapi/.test(path))
]
const sizes = await Promise.all(files.map(async file => (await (await fetch(base + file)).arrayBuffer()).byteLength))
check('220 KiB at first', sizes.reduce((sum, size) => sum + size) <= 220 * 1024 || sizes)
const icon = await fetch(`${base}/docs/icon.svg`)
check('the icon',
  [icon.headers.get('Content-Type'), (await icon.text()).length < 1024, requested.has('/favicon.ico')],
  ['image/svg+xml', true, false])

check('requests to other origins', strayed, [])
const failed = /^Failed to load resource: the server responded with a status of (\d+) /
const harmless = /ERR_FAILED|Password field is not contained in a form/ // requests that a check aborted; a mere hint
const unexpected = logged.filter(text => !harmless.test(text)).map(text => Number(text.match(failed)?.[1]) || text)
check('the console', unexpected.sort(), provoked.sort())
await browser.close()
for (const failure of failures) console.log(failure)
console.log(`${passed} passed, ${failures.length} failed`)
process.exit(failures.length ? 1 : 0)
