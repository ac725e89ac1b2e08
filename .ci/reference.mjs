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
import { ws } from 'playwright-core/lib/utilsBundle'

const root = fileURLToPath(new URL('..', import.meta.url)), pictures = process.argv[2]
const temp = mkdtempSync(join(tmpdir(), 'petstore-')), binary = join(temp, 'petstore.exe') // .exe for Windows
const servers = []
process.on('exit', () => { // Playwright ends the browser itself
  for (const { process } of servers) process.kill('SIGKILL')
  rmSync(temp, { recursive: true, force: true })
})
const quit = reason => { console.error(`reference.mjs: ${reason?.stack ?? reason}`); process.exit(1) }
for (const event of ['SIGHUP', 'SIGINT', 'SIGTERM', 'uncaughtException']) process.on(event, quit)
setTimeout(quit, 180_000, 'not finished after 3 minutes').unref()

execFileSync('go', ['build', '-o', binary, '.'], { cwd: root, stdio: 'inherit' })
const start = (address, ...flags) => new Promise((resolve, reject) => {
  let output = ''
  const process = spawn(binary, ['-addr', address, ...flags], { stdio: ['ignore', 'ignore', 'pipe'] })
  process.stderr.on('data', chunk => {
    const url = (output += chunk).match(/Petstore API: (http\S+)\n/)?.[1]
    if (!url) return
    servers.push({ process, url })
    resolve(servers.at(-1))
  })
  process.on('exit', () => reject(new Error(`the server ended: ${output}`)))
})
const data = ['-data', join(temp, 'data.json')], { url: base, process: server } = await start('localhost:0', ...data)
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
    if (!servers.some(({ url }) => url === origin)) strayed.push(request.url())
  })
  page.on('console', message => logged.push(message.text()))
  page.on('pageerror', error => logged.push(String(error)))
  await page.clock.install()
  await page.addInitScript(() => {
    globalThis.counts = { shifted: 0, timers: 0, writes: 0 }
    new PerformanceObserver(list => {
      for (const entry of list.getEntries()) if (!entry.hadRecentInput) counts.shifted += entry.value
    }).observe({ type: 'layout-shift', buffered: true })
    for (const name of ['setTimeout', 'setInterval', 'requestAnimationFrame']) {
      const original = globalThis[name]
      globalThis[name] = (...args) => { counts.timers++; return original(...args) }
    }
    new MutationObserver(records => { counts.writes += records.length })
      .observe(document, { subtree: true, childList: true, characterData: true, attributes: true })
  })
  return page
}

async function open({ key = 'demo-business', url = base, ...options } = {}) {
  const page = await newPage(options)
  await page.addInitScript(key => {
    if (!sessionStorage.getItem('petstore.key')) sessionStorage.setItem('petstore.key', `"${key}"`)
  }, key)
  await page.goto(url)
  return page
}

// look takes a picture, runs axe, and sees whether the page is wider than the screen.
const axe = readFileSync(join(root, '.ci/node_modules/axe-core/axe.min.js'), 'utf8')
async function look(page, name) {
  if (pictures) await page.screenshot({ path: join(pictures, `${name}.png`) })
  await page.evaluate(`${axe}; scrollTo(0, 0)`) // where nothing is half covered
  const { violations } = await page.evaluate(() =>
    globalThis.axe.run({ resultTypes: ['violations'], rules: { 'target-size': { enabled: true } } }))
  check(`axe on ${name}`, violations.map(({ id, nodes }) => `${id}: ${nodes[0].html}`), [])
  check(`${name} is wider than the screen by`,
    await page.evaluate(() => document.documentElement.scrollWidth - innerWidth), 0)
}

const part = (page, id) => page.locator(`article#${id}`)
const exactly = text => RegExp(`^${text.replace(/[^\w ]/g, '\\$&')}$`)
const press = (place, name) => place.locator('button', { hasText: exactly(name) })
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
    page.waitForResponse(response => !/\/docs\/|healthz/.test(response.url())), act()
  ])
  if (response.status() >= 400) provoked.push(response.status())
  await article.locator('form:not([aria-busy=true])').waitFor()
  const shown = article.locator('.response pre')
  return [response.status(), await shown.count() ? JSON.parse(await shown.textContent()) : undefined]
}

// isSeen is for a part of the page: it is covered by nothing, and begins on the screen.
const isSeen = part => {
  const { left, top, height } = part.getBoundingClientRect()
  return part.contains(document.elementFromPoint(left + 14, top + 14)) && top + Math.min(height, 80) <= innerHeight
}

// What is seen at once, on a screen of any width: the meter, whose it is, the key and the navigation.
const zooms = [[320, 568], [768, 640], [853, 480], [911, 512], [1024, 576], [1093, 614], [1164, 655], [1280, 720],
  [1366, 768], [1536, 864], [1920, 1080], [2560, 1440]]
const wantedAt = width => ({ beside: width >= 800, seen: width >= 960 ? 4 : 2, wider: 0, cut: 0 })
function seenAtOnce() {
  for (const details of document.querySelectorAll('main details')) details.open = true
  const [text, form] = [...document.querySelector('#createPet').children].map(part => part.getBoundingClientRect())
  const isSeen = selector => {
    const { top, bottom, width } = document.querySelector(selector).getBoundingClientRect()
    return width > 0 && top >= 0 && bottom <= innerHeight
  }
  const { scrollWidth, clientWidth } = document.documentElement
  const isCut = part => part.scrollWidth > part.clientWidth + 1 && part.clientWidth > 1
  return {
    beside: form.left >= text.right,
    seen: ['.meter', '.meter span', '#key', '[href="#listPets"]'].filter(isSeen).length,
    wider: scrollWidth - clientWidth,
    cut: [...document.querySelectorAll('main :is(div, p, td, figure, button, h4), nav a, header')].filter(isCut).length,
  }
}

// What waits for a server's clock, or for another browser, goes on beside the rest.
const limits = tryLimits(), flags = tryFlags(), firefox = process.env.FIREFOX && tryFirefox()

// --- What the page shows ---
const page = await open()
const groups = 'Pets, Animals, Categories, Store, Orders, Inventory'.split(', ')
check('the groups', await page.locator('nav .group').allTextContents(), groups)
const api = JSON.parse(readFileSync(join(root, 'docs/openapi.json')))
const operations = Object.entries(api.paths).flatMap(([path, item]) => Object.entries(item).map(([method, operation]) =>
  ({ ...operation, address: `${method.toUpperCase()} ${path}` })))
const shared = Object.keys(operations[0].responses).filter(status =>
  operations.every(({ responses }) => isDeepStrictEqual(responses[status], operations[0].responses[status])))
for (const { operationId, summary, address, responses } of operations) {
  const link = page.locator(`nav a[href="#${operationId}"]`), { height } = await link.boundingBox()
  check(`${operationId} in the navigation, in a line`,
    [height < 32, RegExp(`^${address.split(' ')[0]}${summary}`).test(await link.textContent())], [true, true])
  const article = part(page, operationId), text = await article.textContent()
  check(`${operationId} on the page`, await article.locator('h4').textContent(), summary)
  const own = Object.keys(responses).filter(status => !shared.includes(status))
  check(`${operationId}: its own statuses`, await article.locator('details details summary b').allTextContents(), own)
  check(`${operationId}: an example of each`,
    await article.locator('form .response .choices button').allTextContents(), own)
  check(`${operationId}: the others`, text.includes(`Also ${shared.join(', ')}: see Errors`))
  check(`${operationId}: no shared header`, text.includes('X-RateLimit'), false)
}
for (const place of ['nav', 'main'])
  check(`badges in ${place}`, await page.locator(`${place} .badge`).allTextContents(), ['Deprecated', 'Beta', 'Experimental'])
const quiet = part(page, 'listOrders')
check('no errors to try in listOrders', await quiet.locator('figure button').count(), 0)
check('but how to code it',
  /^curl -i \\\n  .*\/store\/orders'/.test(await quiet.locator('[aria-label=Code]').textContent()))
check('every other one has a form', await page.locator('.send').count(), operations.length - 1)
check('reads alone are sent until 429', await press(page.locator('article'), 'Send until 429').count(),
  operations.filter(({ address }) => /^GET/.test(address)).length - 1)
check('the shared statuses', await page.locator('#errors details summary b').allTextContents(), shared)
const served = await (await fetch(`${base}/openapi.json`)).json()
check('the address at the top',
  (await page.locator('.facts').textContent()).includes(served.servers[0].variables.base_url.default))

const marked = () => page.locator('nav [aria-current]').getAttribute('href')
check('the overview is marked at first', await marked(), '#overview')
await page.locator('nav summary').click()
await page.locator('nav a[href="#examples"]').click()
await page.locator('nav [href="#examples"][aria-current]').waitFor()
await page.evaluate(() => document.querySelector('#getOrder').scrollIntoView())
await page.waitForURL(/#getOrder$/)
await page.evaluate(() => scrollTo(0, 0))
await page.locator('nav [href="#overview"][aria-current]').waitFor()

// --- A map to scan ---
await page.setViewportSize({ width: 1280, height: 720 })
await page.reload()
const boxes = selector => page.locator(selector).evaluateAll(all => all.map(part => {
  const { left, right, top, bottom } = part.getBoundingClientRect()
  return { left, right, top, bottom, isSeen: part.checkVisibility() && top >= 0 && bottom <= innerHeight - 36 }
}))
check('all operations in view', (await boxes('.map a:has(.method)')).map(({ isSeen }) => isSeen), Array(18).fill(true))
check('methods in a column', new Set((await boxes('nav .method')).map(({ right }) => right)).size, 1)
const indents = await page.locator('nav .group').evaluateAll(all => all.map(group =>
  parseFloat(getComputedStyle(group).paddingLeft)))
check('groups are indented', indents.map(indent => indent > indents[0]), [false, true, true, false, true, true])
check('the chapters are folded, and marked', await page.locator('nav details').evaluate(details =>
  [details.open, getComputedStyle(details).boxShadow !== 'none']), [false, true])
check('the current entry has a bar and weight', await page.locator('nav [href="#listPets"]').evaluate(async link => {
  location.hash = 'listPets'
  while (!link.ariaCurrent) await new Promise(resolve => setTimeout(resolve, 10))
  const { boxShadow, fontWeight } = getComputedStyle(link)
  return [/inset/.test(boxShadow), fontWeight]
}), [true, '700'])
check('the heading is the largest of its part', await page.locator('#listPets').evaluate(article => {
  const size = part => parseFloat(getComputedStyle(part).fontSize)
  return Math.max(...[...article.querySelectorAll('*:not(h4, h4 *)')].map(size)) * 1.2 < size(article.querySelector('h4'))
}))
check('JSON in four colours', await part(page, 'createOrder').locator('.json').first().evaluate(json => new Set(
  [...json.querySelectorAll('span span')].map(part => getComputedStyle(part).color)).size), 4)
check('"required" in colour', await part(page, 'createPet').locator('.required').evaluateAll(all =>
  all.every(part => getComputedStyle(part).color === 'rgb(179, 38, 30)') && all.length > 2))
await press(part(page, 'getPet'), '404').click()
check('an example of a status',
  JSON.parse(await part(page, 'getPet').locator('.response .json').textContent()).status, 404)
await page.goto(base)
await press(page.locator('.first'), 'Copy').click()
check('a first request to copy, without a trace', [await page.evaluate(() => navigator.clipboard.readText()),
  await page.evaluate(() => String(getSelection()))],
  [`curl -i \\\n  '${base}/pets' \\\n  -H 'Authorization: Bearer demo-business'`, ''])
const names = (await page.locator('body').ariaSnapshot()).match(/button ".*?"/g)
check('no two buttons have one name', names.filter((name, i) => names.indexOf(name) !== i), [])
check('an unknown limit shows no bar', await page.getByRole('meter').isVisible(), false)
await page.setViewportSize({ width: 1280, height: 800 })
await page.goto(base)

// --- Trying it ---
check('the log is closed', await page.getByText('The requests you send are listed here').isVisible(), false)

const tries = page.locator('article figure button')
const inErrors = status => page.locator('#errors tr').filter({ hasText: RegExp(`^${status}`) }).locator('button')
check('errors to try anywhere', await page.locator('#errors button').allTextContents(), ['Try 400', 'Try 401',
  'Send until 403', 'Try 404', 'Try 405', 'Try 409', 'Try 413', 'Try 415', 'Send until 429', 'Send until 503'])
const others = page.locator('article:has(.send) details.bad:has(figure):not(:has(button)) summary b')
check('no other errors', new Set(await others.allTextContents()), new Set(shared.includes('503') ? [] : ['503']))
const errors = await tries.evaluateAll(buttons => buttons.map(button => ({
  name: button.textContent, id: button.closest('article').id, caption: button.parentElement.firstChild.textContent,
  example: JSON.parse(button.parentElement.querySelector('pre').textContent),
})))
for (const [i, { name, id, caption, example }] of errors.entries()) {
  const article = part(page, id)
  const [, body] = await responseTo(page, article, () => tries.nth(i).evaluate(button => button.click()))
  check(`${id}: ${caption}`, [name, body], [`Try this error: ${body.status}`, example])
  check(`${id}: ${caption}, as shown`, (await outcome(article)).match(/ (\d+) /)[1], `${example.status}`)
}
await page.reload()

for (const status of [400, 404, 405, 409, 413, 415]) {
  const [response] = await Promise.all([page.waitForResponse(response => !/\/docs\/|healthz/.test(response.url())),
    inErrors(status).evaluate(button => button.click())])
  provoked.push(status)
  check(`tried in the chapter: ${status}`, response.status(), status)
  await page.locator('form[aria-busy=true]').waitFor({ state: 'detached' })
}
check('when and what to do', await page.locator('#errors .plain tbody tr').evaluateAll(rows =>
  rows.map(({ cells: [status, , when, what] }) => Boolean(status.textContent && when.textContent && what.textContent))),
  Array(11).fill(true))
await inErrors(503).evaluate(button => button.click())
await page.getByText('No 503 came. Start the server with -fail 1/2').waitFor()
await page.reload()

// --- What is sent is what is seen ---
const list = part(page, 'listPets'), log = page.locator('aside'), rows = log.locator('tbody tr')
const provoke = (article, caption) => responseTo(page, article, () => article.locator('figure')
  .filter({ hasText: caption }).locator('button').evaluate(button => button.click()))
await provoke(list, 'Unknown query parameter')
check('a mistake is seen', await list.locator('.extra').textContent(), '+ ?color=red ×')
check('and sent until it is removed', [(await send(page, 'listPets', { limit: '2' }))[0],
  await list.getByRole('button', { name: 'Remove ?color=red' }).click(), (await send(page, 'listPets'))[0]],
  [400, undefined, 200])
await log.locator('summary').click()
check('newest first', await rows.locator('td:last-child').allTextContents(), ['200', '400', '400'])
check('what it says',
  /^GET\n*\t\/pets\?limit=2\n*\d\d:\d\d:\d\d, Business\n*\t200$/.test(await rows.first().innerText()))
await press(rows.nth(1), '/pets?color=red&limit=2').click()
check('a request again, with its response', /^\+ \?color=red.*GET \/pets\?color=red&limit=2 400.*sent at .*, Business/s.test(
  await list.locator('form').textContent().then(text => text.slice(text.indexOf('+')))))
await press(rows.nth(2), '/pets?color=red').click()
check('Send repeats it', (await send(page, 'listPets'))[0], 400)
await page.reload()
check('the log stays open', await log.getByText('The requests you send are listed here').isVisible())
await log.locator('summary').click()
await inErrors(401).click()
await list.getByText('401 Unauthorized').waitFor()
provoked.push(401)
check('it is seen, too', await list.locator('.extra').textContent(), '+ Authorization: Bearer unknown ×')
check('and named in the log', /, unknown key$/.test(await rows.first().locator('small').textContent()))
check('its limit is not that of the key', /1000/.test(await page.locator('.meter').textContent()))
check('and says whose it is', await page.locator('.meter').textContent().then(text => /Business/.test(text)))
check('a long run goes without it', [(await responseTo(page, list, async () => {
  await press(list, 'Send until 429').click()
  await press(list, 'Stop').click()
}))[0], await list.locator('.extra button').count()], [200, 0])
await inErrors(401).click()
await list.getByText('401 Unauthorized').waitFor()
await press(page, 'Pro').click()
check('a mistake goes with its key', [await list.locator('.extra button').count(), (await send(page, 'listPets'))[0]],
  [0, 200])
await press(page, 'Business').click()

await log.locator('tbody').evaluate(rows => rows.replaceChildren())
for (let i = 0; i < 3; i++) await send(page, 'listInventory')
check('equal requests are one row, with their number',
  await rows.locator('td:last-child').allTextContents(), ['200 ×3'])
const seeHeaders = async () => [
  await part(page, 'listInventory').locator('.response details').evaluate(({ open }) => open),
  await part(page, 'listInventory').getByRole('row', { name: /^X-RateLimit-Reset \d+, in \d+.s when received$/ }).isVisible()]
await part(page, 'listInventory').getByText('Headers', { exact: true }).click()
await send(page, 'listInventory')
check('headers stay open, and say a time in seconds', await seeHeaders(), [true, true])
await part(page, 'listInventory').getByText('Headers', { exact: true }).click()
await send(page, 'listInventory')
check('or closed', (await seeHeaders())[0], false)
await press(part(page, 'listInventory'), 'Copy body').click()
check('a response is copied', JSON.parse(await page.evaluate(() => navigator.clipboard.readText())).length, 5)
const turning = JSON.stringify({ name: 'a\u202eb', categoryId: 1 })
await send(page, 'replacePet', { body: turning })
check('what turns a text is shown as it is escaped',
  (await part(page, 'replacePet').locator('.response .json').textContent()).includes('a\\u202eb'))
await page.reload()

const name = '<img src=x onerror=alert(1)>'
const creating = part(page, 'createCategory')
await press(creating, 'All fields').click()
check('a category',
  await send(page, 'createCategory'), [201, { id: 5, name: 'Birds', description: 'From canaries to parrots' }])
await send(page, 'createPet', { body: { name, categoryId: 5 } })
check('its name is text', await part(page, 'createPet').locator('.response pre').getByText(name).count(), 1)
const location = part(page, 'createPet').locator('.next').getByRole('link')
check('its Location', await location.textContent(), '/pets/6')
await location.click()
check('leads to the pet',
  [new URL(page.url()).hash, ...await Promise.all(['getPet', 'replacePet', 'deletePet', 'getInventory']
  .map(id => part(page, id).getByLabel('petId', { exact: true }).inputValue()))], ['#getPet', '6', '6', '6', '1'])
check('the pet', (await send(page, 'getPet'))[1].name, name)
const pets = await send(page, 'listPets', { limit: '2', status: '', categoryId: '' })
check('a page', pets[1].map(({ id }) => id), [1, 2])
const next = press(list, 'Next page')
check('the next page', (await responseTo(page, list, () => next.click()))[1].map(({ id }) => id), [3, 4])
await responseTo(page, list, () => page.keyboard.press('Enter')) // the focus is still there
check('and none after the last', await next.count(), 0)
check('an order is cancelled', await send(page, 'cancelOrder'), [204, undefined])
await list.getByLabel('after', { exact: true }).fill('0')
await page.evaluate(() => { document.activeElement.blur(); location.hash = 'listCategories' })
await page.locator('nav [href="#listCategories"][aria-current]').waitFor()
check('Ctrl+Enter sends what is marked', (await responseTo(page, part(page, 'listCategories'),
  () => page.keyboard.press('Control+Enter')))[1].length, 5)
await list.getByLabel('after', { exact: true }).focus()
check('or what has the focus', (await responseTo(page, list, () => page.keyboard.press('Control+Enter')))[0], 200)

// --- What is wrong with it, the server says; the page marks the field ---
let sent = 0
page.on('request', request => { if (!/icon.svg|healthz/.test(request.url())) sent++ })
for (const [id, field, value] of [
  ['listPets', 'limit', '1.5'],
  ['listPets', 'after', '-1'],
  ['getPet', 'petId', 'x'],
  ['createPet', 'body', '{"name": "Pip"}'],
  ['createOrder', 'body', '{"shipDate": "tomorrow"}'],
]) {
  const article = part(page, id), marked = () => article.locator('[aria-invalid=true]').evaluateAll(all =>
    all.map(({ name }) => name))
  check(`${value} as ${field} of ${id}`, [(await send(page, id, { [field]: value }))[0], await marked()], [400, [field]])
  await article.getByLabel(field, { exact: true }).fill('1')
  check('a change clears the mark', await marked(), [])
  if (id === 'listPets') await article.getByLabel(field, { exact: true }).fill('')
}

const nameless = part(page, 'getPet')
await nameless.getByLabel('petId', { exact: true }).fill(' ')
await press(nameless, 'Send').click()
check('what the path needs', [await outcome(nameless), await nameless.locator('[aria-invalid=true]').count(), sent],
  ['Not sent: petId is required.', 1, 5])
await nameless.getByLabel('petId', { exact: true }).fill('1')

// --- When there is no response ---
await page.route(`${base}/categories/*`, route => route.abort())
await press(part(page, 'getCategory'), 'Send').click()
await part(page, 'getCategory').getByText('the server is still there').waitFor()
await page.route(`${base}/healthz`, route => route.abort())
await press(part(page, 'getCategory'), 'Send').click()
await part(page, 'getCategory').getByText('cannot be reached').waitFor()
for (const path of ['categories/*', 'healthz']) await page.unroute(`${base}/${path}`)
const entries = await rows.count()
for (const key of ['schlüssel', 'two words']) {
  await page.getByLabel('API key').fill(key)
  await press(list, 'Send').click()
  await list.getByText('Not sent: a key has only ASCII characters and no spaces.').waitFor()
  check('nor is an answer shown', await list.locator('.response').textContent(), '')
}
check('nothing is sent with it, nor logged', [sent, await rows.count()], [7, entries])
await press(page, 'Business').click()
await page.route(`${base}/inventory`, route => sleep(1000).then(() => route.continue()))
const stock = part(page, 'listInventory')
await press(stock, 'Send').dblclick()
await press(stock, 'Sending …').waitFor()
await stock.getByText('200 OK').waitFor()
check('sent once', [sent, await press(stock, 'Send').count()], [8, 1])
const json = { code: 'service_unavailable' }, headers = {
  'X-RateLimit-Limit': '1000', 'X-RateLimit-Remaining': '900', 'X-RateLimit-Reset': '9999999999', 'Retry-After': '1',
}
await page.route(`${base}/inventory`, route => route.fulfill({ status: 503, json, headers }))
check('a 503 is no wait', [(await send(page, 'listInventory'))[0], await press(stock, 'Send').isEnabled(),
  await page.locator('.meter strong').textContent()], [503, true, '900 of 1000 left'])
await page.unroute(`${base}/inventory`)
await send(page, 'listInventory')

// --- The same request in other languages ---
const quoted = `{\n  "name": "D'Artagnan $HOME \\"!\\" \\\\ \`é\`",\n  "categoryId": 5\n}`
const run = (command, ...args) =>
  execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
const go = join(temp, 'main.go')
const runners = {
  curl: text => run('bash', '-c', `${text} -s`),
  HTTP: text => run('node', '-e', `const socket = require('net').connect(${new URL(base).port}, 'localhost')
    socket.end(process.argv[1])
    socket.pipe(process.stdout)`, text),
  JavaScript: text => run('node', '-e', text),
  Python: text => run('python3', '-c', text),
  Go: text => [writeFileSync(go, text), run('go', 'run', go)][1],
}
const pet = part(page, 'createPet')
await pet.getByLabel('body', { exact: true }).fill(quoted)
await list.getByLabel('limit', { exact: true }).fill('1')
for (const [language, run] of Object.entries(runners)) {
  await press(pet, language).click()
  check(`${language}: no line is broken`, await pet.locator('[aria-label=Code]').evaluate(pre =>
    Math.round(pre.scrollHeight / parseFloat(getComputedStyle(pre).lineHeight) - 1) === pre.textContent.split('\n').length))
  await press(pet, 'Copy').click()
  await press(pet, 'Copied').waitFor()
  const created = run(await page.evaluate(() => navigator.clipboard.readText()))
  check(`${language} creates`,
    [created.includes('201'), JSON.parse(created.match(/{"id.*}/)[0]).name], [true, JSON.parse(quoted).name])
  const listed = run(await list.locator('[aria-label=Code]').textContent())
  check(`${language} lists`, [listed.includes('200'), JSON.parse(listed.match(/\[{"id.*\]/)[0]).length], [true, 1])
  await page.clock.fastForward(3000)
  await press(pet, 'Copy').waitFor()
}

// --- The answer first ---
// It is sent from each form. In view must be what was sent, the body's first lines, and the way on.
await page.reload()
await page.evaluate(`globalThis.isSeen = ${isSeen}`)
for (const [width, height, least] of [[1280, 720, 14], [1366, 625, 14], [1440, 780, 14.5], [1920, 950, 15.5]]) {
  await page.setViewportSize({ width, height })
  const [wrong, statuses] = await page.evaluate(async () => {
    const wrong = [], statuses = []
    for (const form of document.querySelectorAll('form:has(.send)')) {
      const { id } = form.parentElement, { limit } = form.elements
      if (limit) limit.value = '2'
      globalThis.location.hash = id
      form.requestSubmit()
      do await new Promise(resolve => setTimeout(resolve, 20)); while (form.ariaBusy === 'true')
      const all = selector => [...form.querySelectorAll(selector)]
      const [outcome, body, next] = ['.outcome', '.response > .json, .response > p:not(.next)', '.next'].map(name =>
        form.querySelector(name))
      const tops = all('.outcome, .response > details, .response > .json, [aria-label=Code]')
        .map(part => part.getBoundingClientRect().top)
      const scrolls = all(':not(textarea, [aria-label=Code])').filter(part => part.scrollHeight > part.clientHeight + 1
        && /auto|scroll/.test(getComputedStyle(part).overflowY))
      const status = Number(outcome.textContent.match(/ (\d+) /)?.[1])
      statuses.push(status)
      if (!/^(GET|POST|PUT|PATCH|DELETE) \//.test(outcome.textContent)) wrong.push(`${id} has no request`)
      if (!isSeen(outcome) || !isSeen(body)) wrong.push(`${id} hides its response`)
      if ((status === 201 || limit) && !(next && isSeen(next))) wrong.push(`${id} hides the way on`)
      if (form.querySelector('.response table').checkVisibility()) wrong.push(`${id} unfolds its headers`)
      if (tops.some((top, i) => top < tops[i - 1])) wrong.push(`${id} is out of order`)
      if (scrolls.length) wrong.push(`${id} scrolls in ${scrolls[0].outerHTML}`)
    }
    return [wrong, statuses]
  })
  provoked.push(...statuses.filter(status => status >= 400))
  check(`the answer first at ${width}x${height}`, wrong, [])
  const creator = part(page, 'createPet')
  await provoke(creator, 'Body too large')
  const short = (await creator.locator('[aria-label=Code]').textContent()).length < 1000
  check(`a huge body at ${width}x${height}`, [short,
    await creator.locator('.outcome').evaluate(isSeen)], [true, true])
  await creator.locator('.also').evaluate(end => end.scrollIntoView({ block: 'center' }))
  await provoke(creator, 'Wrong Content-Type')
  check(`what caused a 415 at ${width}x${height}`, await creator.locator('.extra button').evaluate(isSeen))
  await rows.first().locator('button').evaluate(button => button.click())
  check(`where the log leads at ${width}x${height}`, await creator.locator('h4').evaluate(isSeen))
  await press(creator, 'All fields').click()
  const [response, code, group, operation] = await page.evaluate(() =>
    ['.response pre', '[aria-label=Code]', 'h3', 'h4'].map(selector =>
      parseFloat(getComputedStyle(document.querySelector(selector)).fontSize)))
  check(`sizes at ${width}x${height}`, response >= least && code >= least && group > operation * 1.2
    || [response, code, group, operation])
}
await page.setViewportSize({ width: 1280, height: 800 })
await page.reload()

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
check('the language after a reload', /^package main/.test(await list.locator('[aria-label=Code]').textContent()))
const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor)
const white = 'rgb(255, 255, 255)', black = 'rgb(17, 21, 27)'
await press(page, 'Dark').click()
await page.reload()
check('dark after a reload', await background(), black)
check('the key is kept for the session alone', await page.evaluate(() =>
  [Object.keys(localStorage).sort(), JSON.stringify(localStorage).includes('demo-'), document.cookie]),
  [['language', 'scheme', 'showsHeaders', 'showsLog'].map(name => `petstore.${name}`), false, ''])
await press(page, 'Hide').click()
await page.reload()
check('the key stays hidden', [await page.locator('#key').getAttribute('type'),
  (await list.locator('[aria-label=Code]').textContent()).includes('demo-business')], ['password', false])
await press(list, 'Copy').click()
check('it is copied', /Bearer demo-business/.test(await page.evaluate(() => navigator.clipboard.readText())))
check('it is still sent', (await send(page, 'getCategory'))[0], 200)

// --- On paper ---
await page.emulateMedia({ media: 'print' })
check('on white paper', await background(), white)
check('no forms in print', await page.locator('form, button, input, nav, aside').locator('visible=true').count(), 0)
check('folds in print: open for what is described, closed for examples', await page.evaluate(() => {
  const seen = selector => [...document.querySelectorAll(selector)].map(part =>
    part.checkVisibility({ contentVisibilityAuto: true }))
  return [seen('.about > .fold > table').every(Boolean), seen('figure').some(Boolean)]
}), [true, false])
// A grid that a page's end divides lays one part over another.
check('no grid in print', await page.locator('main').evaluate(main => [main, ...main.querySelectorAll('*')]
  .filter(part => part.checkVisibility() && getComputedStyle(part).display === 'grid').length), 0)
const printed = (await page.pdf({ format: 'A4' })).toString('latin1').match(/\/Type \/Page\b/g).length
check('16 pages at most', printed <= 16 || printed)
await page.context().close()

// --- Finding one's way at each width ---
for (const width of [360, 768]) {
  const page = await open({ width, height: 640 }), nav = page.locator('nav'), menu = press(page, 'Menu')
  const opens = async () => { await menu.click(); return nav.isVisible() }
  await part(page, 'cancelOrder').scrollIntoViewIfNeeded()
  check(`the menu opens at ${width}`, [await nav.isVisible(), await opens()], [false, true])
  if (width === 360) await look(page, 'menu')
  check('the key is in it', await page.getByLabel('API key').isVisible())
  await nav.locator('summary').click()
  await nav.getByRole('link', { name: 'Errors' }).click()
  check('a choice closes it', [await nav.isVisible(), new URL(page.url()).hash], [false, '#errors'])
  if (width === 360) {
    const height = await page.evaluate(() => document.documentElement.scrollHeight / 640)
    check('25 screens at most', height <= 25 || height)
    const sizes = await page.locator('input, select, textarea').evaluateAll(all =>
      all.map(element => getComputedStyle(element).fontSize))
    check('inputs of 16 px', [...new Set(sizes)], ['16px'])
  }
  await page.context().close()
}
// At each zoom of a projector's screen, and on any other.
const zoomed = await open()
for (const [width, height] of zooms) {
  await zoomed.setViewportSize({ width, height })
  await zoomed.reload()
  check(`at ${width}x${height}`, await zoomed.evaluate(`(${seenAtOnce})()`), wantedAt(width))
}
await zoomed.context().close()
const turned = await open({ width: 768, height: 1024 })
await press(turned, 'Menu').click()
check('rows for a finger', (await turned.locator('nav [href="#listPets"]').boundingBox()).height >= 40)
await turned.setViewportSize({ width: 1024, height: 768 })
await turned.locator('#menu:not(:popover-open)').waitFor({ state: 'attached' })
check('widening closes the menu', await turned.locator('nav').isVisible())
await turned.context().close()
const broad = await open({ width: 1920 })
check('the page is in the middle of a broad screen', await broad.evaluate(() => {
  const box = selector => document.querySelector(selector).getBoundingClientRect()
  return Math.round(box('nav').left + box('main').right - document.documentElement.clientWidth)
}), 0)
await broad.setViewportSize({ width: 1024, height: 576 }) // 1280 at 125 %
await part(broad, 'cancelOrder').scrollIntoViewIfNeeded()
check('the key is in view', await broad.getByLabel('API key').evaluate(key => key.getBoundingClientRect().top > 0))
await broad.context().close()

// --- By the keyboard alone ---
const typist = await open()
const tabTo = async wanted => {
  for (let i = 0; i < 80; i++) {
    await typist.keyboard.press('Tab')
    const focused = typist.locator(':focus')
    if (await focused.evaluate(element => getComputedStyle(element).outlineStyle) === 'none')
      check('the focus is visible', await focused.evaluate(element => element.outerHTML))
    if (await focused.evaluate((element, wanted) => element.matches(wanted), wanted)) return
  }
  check(`reached ${wanted}`, false)
}
await tabTo('[href="#createCategory"]')
await typist.keyboard.press('Enter')
await tabTo('#createCategory-body')
await typist.keyboard.press('Control+A')
await typist.keyboard.type('{"name": "Fish"}')
await typist.keyboard.press('Tab')
const typed = await responseTo(typist, part(typist, 'createCategory'), () => typist.keyboard.press('Enter'))
check('sent by the keyboard', [typed[0], typed[1].name], [201, 'Fish'])
await typist.setViewportSize({ width: 1280, height: 720 })
await typist.evaluate(() => { location.hash = 'createPet' })
await typist.locator('nav [href="#createPet"][aria-current]').waitFor()
const scrolled = () => typist.evaluate(() => scrollY), resting = await scrolled(), moved = []
await typist.getByLabel('API key').evaluate(key => key.focus({ preventScroll: true }))
for (const act of ['1', '2', '3', '4', '5', 'Tab', 'Tab', 'Tab', 'Tab', 'Tab']) {
  await typist.keyboard.press(act)
  moved.push(await scrolled() - resting)
}
check('the header is used where it is', [await typist.locator('header :focus').count(), resting > 0, moved],
  [1, true, Array(10).fill(0)])
await typist.context().close()

// --- The meter ---
async function tryLimits() {
  const trainer = await open({ key: 'wrong' })
  await press(trainer, 'Free').click()
  const meter = trainer.locator('.meter'), lists = part(trainer, 'listPets')
  const [button, many, anyway, stop] = ['Send', 'Send until 429', 'Send anyway', 'Stop'].map(name => press(lists, name))
  const state = () => meter.getAttribute('data-state')
  const counts = () => trainer.evaluate(() => counts)
  await lists.scrollIntoViewIfNeeded()
  for (let left = 59; left >= 57; left--) {
    await send(trainer, 'listPets')
    check(`${left} left`, await meter.locator('strong').textContent(), `${left} of 60 left`)
    check('of a minute', Number((await meter.textContent()).match(/new window in (\d+)/)[1]) <= 60)
  }
  const { height } = await meter.boundingBox()

  // A second tab with the same key shares the meter.
  const second = await open({ context: trainer.context(), key: 'demo-free' })
  await second.getByText('57 of 60 left').waitFor()
  await many.click()
  await second.getByText(/[1-4]. of 60 left/).waitFor()
  await stop.click()
  await lists.getByText(/request\s\d+/).waitFor()
  const stopped = await meter.locator('strong').textContent()
  await sleep(300)
  check('stopped',
    [await meter.locator('strong').textContent(), await second.locator('.meter strong').textContent()],
    [stopped, stopped])
  const statuses = new Set()
  trainer.on('response', response => /pets/.test(response.url()) && statuses.add(response.status()))
  check('how many it will be', await lists.locator('.count').textContent(), `${parseInt(stopped) + 1} requests`)
  await trainer.locator('#errors button', { hasText: 'until 429' }).click()
  await trainer.getByText(/^\d+ sent$/).waitFor()
  await lists.getByText('429 Too Many Requests').waitFor()
  provoked.push(429)
  check('until 429', [[...statuses], await state()], [[200, 429], 'wait'])
  await second.close()
  check('what a 429 says', [await lists.getByRole('row', { name: /^Retry-After \d+ seconds$/ }).isVisible(),
    await lists.locator('.outcome').evaluate(isSeen)], [true, true])
  check('nothing jumps', (await meter.boundingBox()).height, height)
  const disabled = () => trainer.locator('.send').evaluateAll(buttons => buttons.every(button => button.disabled))
  check('Send is held back', [await disabled(), await button.isVisible(), await anyway.isVisible()], [true, true, true])
  check('the next step', await lists.locator('.many, .count').allTextContents(), ['Send until 403', 'takes 10 seconds'])
  const level = () => meter.getByRole('meter').evaluate(bar => bar.style.getPropertyValue('--level'))
  const before = await level()
  await sleep(1500)
  check('the wait moves', await level() > before || [before, await level()])
  await look(trainer, 'wait')
  await trainer.reload()
  check('Send is held back after a reload', await disabled())
  await press(trainer, 'Pro').click()
  check('another key', [await state(), await disabled()], ['new', false])
  await press(trainer, 'Free').click()
  check('and back', [await state(), await disabled()], ['wait', true])
  await trainer.clock.fastForward(61_000) // only the page's clock
  await lists.locator('.send:enabled').waitFor()
  check('Send is back', [await state(), await anyway.isVisible()], ['over', false])
  check('it says so', await meter.getByRole('status').textContent(), 'You can send again')
  await sleep(300)
  const { timers, writes } = await counts()
  await sleep(1500)
  check('idle', [(await counts()).timers - timers, (await counts()).writes - writes], [0, 0])
  check('over the limit again', (await send(trainer, 'listPets'))[0], 429)
  await press(lists, 'Send until 403').click()
  for (const strike of [2, 3]) await lists.getByText(`strike ${strike} of 10`, { exact: true }).waitFor()
  await trainer.keyboard.press('Escape')
  await lists.getByText('429 Too Many Requests').waitFor()
  await press(lists, 'Send until 403').click()
  await lists.getByText('403 Forbidden').waitFor({ timeout: 15_000 })
  provoked.push(403)
  check('banned', [await state(), await disabled()], ['banned', true])
  check('for minutes', /Wait [45]\smin \d+\ss.*banned, too many requests/.test(await meter.textContent()))
  check('it is announced', /^Wait .*banned/.test(await meter.getByRole('status').textContent()))
  await look(trainer, 'banned')
  await press(trainer, 'Enterprise').click()
  check('how many it would be', await lists.locator('.count').textContent(), '5,001 requests')
  await press(trainer, 'Free').click()
  return trainer
}

// --- Both schemes, on a screen, a tablet and a phone ---
async function lookAround() {
  for (const scheme of ['light', 'dark']) for (const width of [1280, 768, 360]) {
    const page = await open({ scheme, width })
    check('layout shift', await page.evaluate(() => counts.shifted), 0)
    if (pictures) await page.screenshot({ path: join(pictures, `${scheme}-${width}.png`) })
    await send(page, 'listPets', { limit: '1' })
    await send(page, 'getPet', { petId: 'x' })
    await page.evaluate(() => { for (const details of document.querySelectorAll('details')) details.open = true })
    await look(page, `${scheme}-${width}-opened`)
    await page.context().close()
  }
}

// --- Servers with flags: a short minute, a keys file, failures, dropped connections ---
async function tryFlags() {
  const keys = join(temp, 'keys.json')
  writeFileSync(keys, '[{"key": "only-mine", "plan": "enterprise", "perMinute": 4, "perDay": 1000}]')
  const short = await start('localhost:0', '-data', '', '-minute', '3s', '-keys', keys)
  const late = await open({ url: short.url, key: 'demo-pro' })
  check('no demo key of an earlier server', await late.getByLabel('API key').inputValue(), '')
  await late.context().close()
  const page = await open({ url: short.url, key: '' }), lists = part(page, 'listPets'), key = page.getByLabel('API key')
  check('what to paste, and hidden', [await key.getAttribute('placeholder'), await key.getAttribute('type'),
    await page.locator('.key .choices button').count()], ['a key of your keys file', 'password', 0])
  await send(page, 'listPets')
  check('whose limit it is', /^59 of 60 left Without a valid key: /.test(await page.locator('.meter p').first().textContent()))
  await key.fill('only-mine')
  await page.locator('#errors button', { hasText: 'until 403' }).evaluate(button => button.click())
  await lists.getByText('strike 2 of 10').waitFor()
  await lists.getByText('A new window began, so the strikes were cleared.').waitFor()
  check('no key in the log', /Your key/.test(await page.locator('.log').textContent())
    && !/only-mine/.test(await page.locator('body').innerText()))
  await page.route(`${short.url}/pets`, route => sleep(800).then(() => route.continue()))
  await press(lists, 'Send until 429').click()
  await lists.getByText('A new window began before the limit was reached.').waitFor()
  await page.context().close()
  for (const [flag, share, control, told] of [
    ['-fail', '1/2', '#errors button:text("until 503")', '503 Service Unavailable'],
    ['-drop', '1/1', '#listPets .send', 'No response came, but the server is still there.'],
  ]) {
    const { url } = await start('localhost:0', '-data', '', flag, share), page = await open({ url })
    await page.locator(control).evaluate(button => button.click())
    await part(page, 'listPets').getByText(told).waitFor()
    await page.context().close()
  }
  provoked.push(401, 429, 503)
}

// --- Firefox, over WebDriver BiDi: FIREFOX names it ---
async function tryFirefox() {
  const profile = mkdtempSync(join(temp, 'firefox-'))
  const fox = spawn(process.env.FIREFOX, ['--headless', '--no-remote', '--profile', profile, '--remote-debugging-port', '0'],
    { env: { ...process.env, HOME: profile }, stdio: ['ignore', 'ignore', 'pipe'] })
  servers.push({ process: fox })
  const address = await new Promise(resolve => fox.stderr.on('data', text => {
    const found = String(text).match(/listening on (ws:\S+)/)
    if (found) resolve(found[1])
  }))
  const socket = new ws(`${address}/session`), waiting = new Map(), errors = []
  await new Promise(resolve => socket.on('open', resolve))
  socket.on('message', message => {
    const { id, result, params } = JSON.parse(message)
    if (id) waiting.get(id)(result)
    else errors.push(params.text)
  })
  const command = (method, params) => new Promise(resolve => {
    waiting.set(waiting.size + 1, resolve)
    socket.send(JSON.stringify({ id: waiting.size, method, params }))
  })
  await command('session.new', { capabilities: {} })
  await command('session.subscribe', { events: ['log.entryAdded'] })
  const { contexts: [{ context }] } = await command('browsingContext.getTree', {})
  const run = async expression => JSON.parse((await command('script.evaluate',
    { expression: `(async () => JSON.stringify(await (${expression})()))()`, target: { context }, awaitPromise: true }))
    .result.value)
  for (const [width, height] of zooms.filter(([width]) => [320, 853, 1024, 1280, 1920].includes(width))) {
    await command('browsingContext.setViewport', { context, viewport: { width, height } })
    await command('browsingContext.navigate', { context, url: base, wait: 'complete' })
    check(`Firefox at ${width}x${height}`, await run(seenAtOnce), wantedAt(width))
  }
  check('Firefox sends', await run(async () => {
    const form = document.querySelector('#listCategories form'), outcome = form.querySelector('.outcome')
    document.querySelector('[value=demo-enterprise]').click()
    form.requestSubmit()
    for (let i = 0; !outcome.textContent && i < 100; i++) await new Promise(resolve => setTimeout(resolve, 50))
    return [/GET .categories 200 OK/.test(outcome.textContent), document.querySelector('.meter').dataset.state]
  }), [true, 'open'])
  check('Firefox has no errors', errors, [])
  fox.kill()
}

const [banned] = await Promise.all([limits, lookAround(), flags, firefox])

// --- A restart begins all windows anew; a page notices it, however short it was ---
const otherKey = await open({ key: 'demo-pro' }), strong = page => page.locator('.meter strong')
await send(otherKey, 'listPets')
await press(otherKey, 'Business').click()
await send(otherKey, 'listPets')
server.kill()
await new Promise(resolve => server.once('exit', resolve))
const { process: again } = await start(new URL(base).host, ...data)
await strong(banned).getByText('No response yet').waitFor()
check('nothing known: no bar, and no news but that', [await banned.getByRole('meter').isVisible(),
  await banned.locator('.meter [role=status]').textContent()], [false, 'No response yet'])
check('after a restart', (await send(banned, 'listPets'))[0], 200)
await send(otherKey, 'listPets')
await press(otherKey, 'Pro').click()
await strong(otherKey).getByText('No response yet').waitFor()
again.kill()
await new Promise(resolve => again.once('exit', resolve))
await press(part(otherKey, 'listPets'), 'Send').click()
await part(otherKey, 'listPets').getByText('The server cannot be reached').waitFor()
await start(new URL(base).host, ...data)
for (const page of [banned, otherKey]) await page.context().close()

// --- Browsers and servers that lack something ---
const noisy = logged.length
for (const [what, url, response] of [
  ['no description', '/openapi.json', { status: 503, body: '' }],
  ['a script that the browser cannot read', '/docs/description.js',
    { contentType: 'text/javascript', body: 'import x from "y" wth {}' }],
  ['no JavaScript'],
]) {
  const context = await browser.newContext({ javaScriptEnabled: url !== undefined })
  const page = url ? await newPage({ context }) : await context.newPage()
  if (url) await page.route(base + url, route => route.fulfill(response))
  await page.goto(base)
  await page.getByText('The reference could not be made').waitFor()
  check(`${what}: nothing that does nothing`, await page.locator('header, aside').locator('visible=true').count(), 0)
  check(`${what}: a way on`, await page.getByRole('link', { name: 'openapi.json' }).first().isVisible())
  await page.context().close()
}
logged.length = noisy

const neighbour = await newPage()
await neighbour.addInitScript(() => {
  for (const name of ['scheme', 'language']) {
    localStorage.setItem(name, '{"of": "another program"}')
    localStorage.setItem(`petstore.${name}`, '"neither"')
  }
})
await neighbour.goto(base)
check('settings that are no choice', await neighbour.locator('[aria-pressed=true]').evaluateAll(all =>
  [...new Set(all.map(({ textContent }) => textContent))]), ['Free', 'System', 'curl', '200', '201', '204'])
await neighbour.context().close()
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
check('requests to other origins', strayed, [])
const failed = /^Failed to load resource: the server responded with a status of (\d+) /
const harmless = /ERR_EMPTY_RESPONSE|ERR_FAILED|ERR_CONNECTION_REFUSED|Password field is not/ // what a check aborted; a mere hint
const unexpected = logged.filter(text => !harmless.test(text)).map(text => Number(text.match(failed)?.[1]) || text)
check('the console', unexpected.filter(what => !provoked.includes(what)), [])
await browser.close()
for (const failure of failures) console.log(failure)
console.log(`${passed} passed, ${failures.length} failed`)
process.exit(failures.length ? 1 : 0)
