// Uses the reference page as people do, in Chromium and in Firefox: each journey has servers of its own.
// CHROMIUM and FIREFOX name the browsers; Firefox may be left out. An argument chooses journeys by name.
import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { chromium, firefox } from 'playwright-core'

const root = join(import.meta.dirname, '..'), temp = mkdtempSync(join(tmpdir(), 'petstore-'))
const binary = join(temp, 'petstore.exe'), servers = []
process.on('exit', () => {
  for (const server of servers) server.kill('SIGKILL')
  rmSync(temp, { recursive: true, force: true, maxRetries: 5 })
})
execFileSync('go', ['build', '-o', binary, '.'], { cwd: root, stdio: 'inherit' })
const api = JSON.parse(readFileSync(join(root, 'docs/openapi.json')))
const operations = Object.entries(api.paths).flatMap(([path, item]) => Object.entries(item)
  .map(([method, operation]) => ({ ...operation, endpoint: `${method.toUpperCase()} ${path}` })))
const start = (address, ...flags) => new Promise((resolve, reject) => {
  const server = spawn(binary, ['-addr', address, '-data', '', ...flags])
  let output = ''
  servers.push(server)
  server.stderr.on('data', text => {
    const url = (output += text).match(/Petstore API: (http\S+)\n/)?.[1]
    if (url) resolve({ url, stop: () => new Promise(stopped => server.on('exit', stopped).kill()) })
  })
  server.on('exit', () => reject(new Error(`the server ended: ${output}`)))
})
const failures = [], passed = []
// travel makes a journey, which opens pages and checks promises.
async function travel(browser, name, go) {
  const browserName = browser.browserType().name(), isChromium = browserName === 'chromium'
  const fail = text => failures.push(`${browserName}, ${name}: ${text}`)
  const check = (promise, got, wanted = true) => {
    if (wanted instanceof RegExp ? wanted.test(got) : isDeepStrictEqual(got, wanted)) passed.push(promise)
    else fail(`${promise}: ${JSON.stringify(got)}, not ${wanted.source ?? JSON.stringify(wanted)}`)
  }
  // open starts a server, unless there is one, and opens its page with a key.
  const open = async ({ size = '1366x768', key = 'demo-pro', path = '', flags = [], url, ...more } = {}) => {
    url ??= (await start('localhost:0', ...flags)).url
    const page = await (await browser.newContext({ viewport: parse(size), ...more })).newPage()
    page.setDefaultTimeout(45_000)
    page.on('request', asked => asked.url().startsWith(url) || fail(`asks elsewhere: ${asked.url()}`))
    page.on('pageerror', error => fail(error.stack))
    page.on('console', said => /^Failed to load|Password field/.test(said.text()) || fail(said.text()))
    await page.addInitScript(`if (origin !== 'null') sessionStorage['petstore.key'] ??= '"${key}"'`)
    await page.goto(`${url}/${path}`)
    await page.locator('nav [aria-current]').waitFor({ state: 'attached' })
    return page
  }
  await go({ open, check, isChromium }).catch(error => fail(error.stack))
}
const parse = size => Object.fromEntries(size.split('x').map((n, i) => [['width', 'height'][i], Number(n)]))
async function press(place, name, outcome) {
  await place.getByRole('button', { name, exact: true }).first().click()
  if (outcome) await place.getByText(outcome).first().waitFor()
}
async function send(panel, outcome) {
  await panel.locator('.send').click()
  await panel.locator('.answer', { hasText: outcome }).waitFor()
}
const texts = locator => locator.allTextContents()
const isSeen = locator => locator.evaluate(part => {
  const { left, top } = part.getBoundingClientRect()
  return part.contains(document.elementFromPoint(left + 9, top + 9))
})
const styleOf = (locator, name = 'backgroundColor') =>
  locator.evaluate((part, name) => getComputedStyle(part)[name], name)
const journeys = {
  async 'limits, until a ban'({ open, check }) {
    const page = await open({ key: 'demo-free', flags: ['-minute', '30s'] }), first = page.locator('#first')
    const meter = page.locator('.meter'), bar = meter.locator('i'), strong = meter.locator('strong')
    check('no count before a response, but per 30 s', [await meter.innerText(),
      await page.locator('thead').innerText()].join(), /^Free plan\s+60 per 30\ss,Plan\s+Per 30\ss/)
    await press(first, 'Send until 429', /^request\s[2-4]\d$/)
    await first.getByText('429 Too Many Requests').waitFor()
    check('a wait', await meter.innerText(), /^Wait \d+\ss\s+Strike 1 of 10/)
    check('what it means', await first.innerText(), /Send anyway[^]*Wait \d.* 10 strikes per 30\ss ban/)
    await press(first, 'Send until 403 (bans this key)')
    for (const count of [2, 5]) await meter.getByText(`Strike ${count} of 10`).waitFor()
    await page.locator('#first:has(.actions > [hidden])', { hasText: '403 Forbidden' }).waitFor()
    check('a ban', await meter.innerText(), /^Banned for 2:\d\d\s+Other keys work/)
    await page.waitForFunction(() => [117, 118, 119].includes(document.querySelector('.meter i').clientWidth))
    check('the meter runs out, in the color of a wait', await styleOf(bar), await styleOf(strong, 'color'))
    await page.locator('#key').selectOption('demo-pro')
    check('no other key waits', [await first.getByText('then send again').isVisible(),
      await first.locator('.send').textContent()], [false, 'Send'])
  },
  async 'a window that ends'({ open }) {
    const endless = await open({ key: 'demo-enterprise', flags: ['-minute', '1s'] })
    await press(endless.locator('#first'), 'Send until 429', 'No 429 came before two new minutes')
    const page = await open({ key: 'demo-free', flags: ['-minute', '15s', '-delay', '20ms'] })
    const first = page.locator('#first') // 60 requests take more than the second that is left
    await send(first, '200 OK')
    await page.locator('.meter').getByText(/^resets in 1\ss$/).waitFor()
    await press(first, 'Send until 429', 'New minute: counting again.')
    await first.locator('.answer', { hasText: /^429 Too Many Requests.*request\s61/ }).waitFor()
  },
  async 'a first request, also for axe'({ open, check, isChromium }) {
    const page = await open({ key: 'demo-free' }), first = page.locator('#first')
    for (const part of ['curl -i', 'Example response', '"Misty"'])
      check(`${part} is on the first screen`, await isSeen(first.getByText(part).last()))
    const [line, json] = [first.locator('.status-line'), first.locator('.json')]
    const looks = [await styleOf(line, 'boxShadow'), await styleOf(json)]
    await send(first, '200 OK')
    check('the response does not look like the example', [await styleOf(line, 'boxShadow') === looks[0],
      await styleOf(json) === looks[1], await texts(line.locator('.pill'))], [false, false, ['200 OK']])
    check('the response is on the first screen', await isSeen(first.getByText('"Misty"')))
    check('as it comes, too, it can be read', await line.evaluate(part => {
      part.parentElement.prepend(part) // which begins its animation
      return part.getAnimations()[0].effect.getKeyframes().every(frame => !frame.backgroundColor)
    }))
    await press(page, 'Light or dark')
    await page.locator('#createPet textarea').fill('{}')
    await page.reload()
    check('a reload keeps the limit, the scheme and what is typed', [await page.locator('.meter').innerText(),
      await page.locator('html').getAttribute('style'), await page.locator('#createPet [name]').inputValue()]
      .join(), /^59 of 60[^]*,color-scheme: dark;,\{\}$/)
    await page.locator('.request').click()
    await page.locator('#listPets .answer', { hasText: /200 OK.*sent at .*Free/ }).waitFor()
    await page.evaluate(() => { sessionStorage['petstore.listPets'] = '{"colour": "red", "limit": "3"}' })
    await page.reload()
    await page.locator('#listPets .address', { hasText: '/pets?limit=3' }).waitFor() // and no colour
    await page.setViewportSize(parse('1280x720'))
    await first.evaluate(aside => aside.scrollTo(0, 999))
    await press(first, 'Try two pets per page')
    await first.locator('.answer:not(.stale)', { hasText: 'limit=2' }).waitFor()
    check('a link under the panel leads back to its top', await isSeen(line))
    const heights = await first.locator('.json .line').evaluateAll(all => all.map(part => part.clientHeight))
    check('a record has a line', heights, [20, 20])
    await first.evaluate(aside => aside.scrollTo(0, 999))
    await page.locator('nav [href="#paging"]').click()
    await page.locator('nav [href="#overview"]').click()
    await page.waitForFunction(() => document.querySelector('#first').scrollTop === 0)
    await page.setViewportSize(parse('1366x768'))
    await press(page.locator('#paging'), 'Try two pets per page')
    await press(first, 'Next page', '"Misty"')
    const row = page.locator('#rate_limited')
    await row.locator('button').click()
    await page.locator('#rate_limited + form', { hasText: '429 Too' }).waitFor()
    if (!isChromium) return
    await page.emulateMedia({ forcedColors: 'active' })
    check('forced colors mark what is chosen, and what can be pressed', [await styleOf(row, 'outlineStyle'),
      await styleOf(row.locator('button'), 'textDecorationLine')], ['solid', 'underline'])
    await page.emulateMedia({ forcedColors: 'none' })
    await page.evaluate(readFileSync(join(root, '.ci/node_modules/axe-core/axe.min.js'), 'utf8'))
    for (const [scheme, width] of [['light', 1366], ['dark', 390]]) {
      await page.setViewportSize({ width, height: 800 })
      check(`axe, ${scheme} at ${width}`, await page.evaluate(async scheme => {
        document.documentElement.style.colorScheme = scheme
        await Promise.all(document.getAnimations().map(({ finished }) => finished))
        for (const details of document.querySelectorAll('details')) details.open = true
        const include = ['header', 'nav', '#overview', '#errors', '#group-animals']
        const found = await globalThis.axe.run({ include }, { rules: { 'target-size': { enabled: true } } })
        return found.violations.map(({ id, nodes }) => `${id}: ${nodes[0].html}`)
      }, scheme), [])
    }
  },
  async 'errors to try'({ open, check }) {
    const page = await open({ path: '#errors', size: '390x844' }), form = page.locator('.codes form')
    check('every code is explained', await texts(page.locator('.row > a')),
      api.components.schemas.Error.properties.code.enum)
    for (const button of await page.locator('.row > button:not(:text("until"))').all()) {
      const row = button.locator('../..'), code = await row.locator('a').first().textContent()
      await button.click()
      await row.locator('.bad').getByText(`"${code}"`).waitFor()
      check(`${code} alone is tried, in its row`, await isSeen(form.locator('.status-line')))
    }
    await page.setViewportSize(parse('1280x720'))
    await page.locator('#failed_on_purpose').evaluate(row => row.scrollIntoView())
    await press(page, 'Send until 503: failed_on_purpose', 'No 503 in 10 requests: start')
    check('which is no success', await styleOf(form.locator('.status-line'), 'boxShadow'),
      RegExp(`^${(await styleOf(form.locator('.status-line .pill'), 'color')).replace(/[()]/g, '.')}`))
    check('a code is in one piece', await page.locator('.row > a code').evaluateAll(codes =>
      codes.filter(code => code.getClientRects().length > 1).map(code => code.textContent)), [])
    check('the outcome of the last row is in view, too', [await isSeen(form.locator('.head')),
      await isSeen(form.locator('.status-line'))], [true, true])
    const order = { method: 'PUT', headers: { 'X-API-Key': 'demo-pro', 'Content-Type': 'application/json' } }
    await page.evaluate(order => fetch('/store/orders/1', order), { ...order, body: '{"complete": true}' })
    await press(page, 'Try 409: in_use') // whose pet is free now
    await form.getByText('No 409 came.').waitFor()
    for (const [code, ...parts] of [['rate_limited', 'rate_limited', 'Send until 429'], ['internal_error']]) {
      await page.goto(new URL(`#${code}`, page.url()).href)
      await page.reload()
      const marked = page.locator('.row[aria-current]', { hasText: code })
      await marked.waitFor()
      check(`${code} can be linked`, [new URL(page.url()).hash, await isSeen(marked)], [`#${code}`, true])
      check('with its panel', await texts(form.locator('.heading, .send')), parts)
    }
  },
  async 'operations'({ open, check }) {
    const page = await open(), panel = id => page.locator(`#${id} .panel`)
    const field = (id, name) => panel(id).locator(`[name=${name}]`)
    for (const { operationId, summary, responses, endpoint } of operations) {
      const statuses = await texts(page.locator(`#${operationId} .more .pill`))
      const names = await texts(page.locator(`#${operationId} h3 a, nav [href="#${operationId}"] > span`))
      check(operationId, [names, statuses.sort()], [[summary, summary], Object.keys(responses).sort()])
      for (const part of [`#${operationId} .about`, `.endpoints [href="#${operationId}"]`]) // to be found
        check(endpoint, (await page.locator(part).innerText()).replace(/\s+/g, ' ').includes(endpoint))
    }
    check('labels', await texts(page.locator('h3 .pill')), ['deprecated', 'beta', 'experimental'])
    check('one has no try-out', await page.locator('article > .panel:not(:has(.send))').count(), 1)
    check('a list is an array, a status one of three', await page.locator('#listPets .more').innerText(),
      /one of available, pending, sold[^]*200\s+array of Pet/)
    await field('createPet', 'body').fill('{"name": "<img src=x>\u202e", "categoryId": 2}')
    await panel('createPet').getByText('for another request').waitFor()
    await send(panel('createPet'), '201 Created')
    await panel('createPet').locator('.ends a').click()
    await panel('getPet').locator('.answer', { hasText: '200 OK' }).getByText('<img src=x>\\u202e').waitFor()
    await panel('getPet').getByText('Other headers').click()
    await panel('getPet').getByText('application/json').waitFor()
    check('a new record is shown, and not what a DELETE is about', [new URL(page.url()).hash,
      await panel('deletePet').locator('.address').textContent()], ['#getPet', '/pets/5'])
    for (const [id, name, value, status] of [['createPet', 'body', '{"name": 1}', 400],
      ['listPets', 'after', 'x', 400], ['getPet', 'petId', 'x', 400], ['getPet', 'petId', '999', 404]]) {
      await field(id, name).fill(value)
      await send(panel(id), `${status}`)
      check(`${id} marks ${value}`, await field(id, name).getAttribute('aria-invalid'), `${status === 400}`)
    }
    for (const [value, outcome] of [['', 'petId is required.'], ['..', 'petId must be an integer']]) {
      await field('getPet', 'petId').fill(value)
      await panel('getPet').getByText('for the previous request').waitFor()
      await send(panel('getPet'), 'Not sent')
      await panel('getPet').locator('label', { hasText: outcome }).waitFor()
    }
    await press(panel('getPet'), 'Reset')
    const form = '#getPet form:not(:has([aria-invalid=true]))'
    await page.locator(`${form} .answer:not(.stale)`, { hasText: 'Example response' }).waitFor()
    const row = page.locator('#listPets .status').nth(1)
    await row.locator('summary').first().click()
    await row.getByText('Repeated query parameter').click()
    await press(row, 'Try 400: Repeated query parameter')
    await panel('listPets').locator('.answer:not(.stale) .bad', { hasText: '400 Bad' }).waitFor()
    await panel('listPets').locator('.address', { hasText: '/pets?limit=1&limit=2' }).waitFor()
  },
  async 'a page that never moves by itself'({ open, check }) {
    const page = await open({ path: '#listPets' }), panel = page.locator('#listPets .panel')
    await page.route('**/pets', route => page.waitForTimeout(3000).then(() => route.continue()))
    await panel.locator('.send').click()
    await page.mouse.move(500, 400)
    await page.mouse.wheel(0, 3000)
    await page.waitForTimeout(1000) // until the wheel is at rest
    const part = await page.evaluateHandle(() => document.elementFromPoint(500, 400))
    const { y } = await part.boundingBox()
    await panel.locator('.answer', { hasText: '200 OK' }).waitFor({ state: 'attached' })
    await page.waitForTimeout(200)
    check('a late response', Math.abs((await part.boundingBox()).y - y) < 2)
    await page.route('**/pets?limit=100', route => route.fulfill({ json: Array(35).fill({ id: 1 }) }))
    await page.locator('#listPets [name=limit]').fill('100')
    await send(panel, '200 OK')
    await panel.evaluate(part => part.scrollIntoView())
    await panel.locator('.answer .json').focus()
    await page.keyboard.press('End')
    await page.waitForFunction(() => document.querySelector('#listPets .json').scrollTop > 100)
    check('a long list scrolls in its box, above the code', await isSeen(panel.locator('.tabs')))
  },
  async 'the keyboard alone'({ open, check, isChromium }) {
    const page = await open({ size: '1280x720' }), type = key => page.keyboard.press(key)
    await type('Tab')
    if (isChromium) await page.locator('.skip:focus').press('Enter')
    for (const [id, said] of [['listInventory', '200 OK'], ['deletePet', 'Not sent: Try it: Delete']]) {
      await page.locator(`nav [href="#${id}"]`).press('Enter')
      await page.locator(`nav [href="#${id}"][aria-current]`).waitFor()
      await type('Control+Enter')
      await page.locator('[role=status]', { hasText: said }).waitFor()
    }
    check('the title names the section', await page.title(), 'Delete a pet | Petstore API')
    if (isChromium) await page.locator('#deletePet .send:focus').waitFor() // which the next press sends
    await page.locator('#deletePet [name=petId]').press('Control+Enter')
    await page.locator('#deletePet .answer', { hasText: '204 No Content' }).waitFor()
    check('a DELETE is sent from its own form only', await page.locator('.request:has(.DELETE)').count(), 1)
  },
  async 'every width'({ open, check }) {
    const page = await open({ key: 'of-my-own' }) // which has the widest header
    await send(page.locator('#first'), '401 Unauthorized')
    await page.locator('main details').evaluateAll(all => all.forEach(details => { details.open = true }))
    const sizes = '320x568 360x740 390x844 768x1024 911x512 1093x614 1280x720 1366x768 1920x1080'
    for (const size of sizes.split(' ')) {
      await page.setViewportSize(parse(size))
      check(`at ${size} nothing is cut or too small, and the API is in view`, await page.evaluate(() => {
        const kinds = 'main :is(div, p, td, li, button, h3, summary, pre), nav a, header, header p'
        const isWide = part => part.scrollWidth > part.clientWidth + 1 && part.clientWidth > 1
        const isTall = part => part.scrollHeight > part.clientHeight + 1 && part.matches('div, pre, textarea')
        const isSmall = part => part.checkVisibility() && parseFloat(getComputedStyle(part).fontSize) < 11
        const isBad = part => (isWide(part) && part.matches(kinds)) || isTall(part) || isSmall(part)
        const entries = [...document.querySelectorAll('nav li')].slice(0, 27) // a larger API need not fit
        const isShown = innerWidth < 1280 || entries.at(-1).getBoundingClientRect().bottom < innerHeight
        return [document.documentElement.scrollWidth <= innerWidth, isShown,
          ...[...document.querySelectorAll('body *')].filter(isBad).map(part => part.outerHTML.slice(0, 80))]
      }), [true, true])
    }
    const order = page.locator('#replaceOrder')
    await page.setViewportSize(parse('1280x720'))
    await press(order, 'Go')
    await order.locator('textarea').fill('\n'.repeat(60))
    await send(order, '401 Unauthorized')
    check('a response is in view, however long body or code', await isSeen(order.locator('.status-line')))
    const phone = await open({ size: '360x740', path: '#listPets' }), list = phone.locator('#listPets')
    await send(list, '200 OK')
    check('a phone shows the response at once', await isSeen(list.locator('.answer .line').first()))
    await press(phone, 'Send until 429', /^request\s\d+$/)
    check('a run is in view', await isSeen(phone.locator('#first .answer')))
    await press(phone, 'Menu')
    await phone.locator('nav [href="#errors"]').click()
    check('the menu leads on, and closes', await isSeen(phone.locator('#errors h2')))
    await press(phone, 'Menu')
    await press(phone, 'Close')
    await phone.locator('nav').waitFor({ state: 'hidden' })
  },
  async 'a server that drops, fails, has a keys file, and starts again'({ open, check, isChromium }) {
    const dropped = await open({ flags: ['-drop', '1/2'] }), panel = dropped.locator('#createPet')
    await press(panel, 'Send', /list the records before you send it again\. List pets$/)
    const news = await dropped.locator('.meter, .actions li:first-child small, .request').allInnerTexts()
    check('the log says so, and no count is shown', news.join(), /^Requests left\s+known[^]*,,POST[^]*no re/)
    await send(panel, '201 Created')
    await dropped.route('**/pets', () => {}) // which answers nothing
    await panel.locator('.send').dblclick()
    await panel.locator('.stale').getByText(/^Waiting \d\.\d\ss$/).waitFor()
    check('a wait shows no old status', await panel.getByText('201 Created').isVisible(), false)
    await press(panel, 'Stop', 'You stopped waiting.')
    const failing = await open({ flags: ['-fail', '1/1'] })
    await press(failing.locator('#first'), 'Send', /^Wait 1\ss, then send again\.$/)
    await failing.locator('#first').getByText('You can send again.').waitFor()
    const keys = join(temp, `${isChromium}.json`), flags = ['-keys', keys]
    writeFileSync(keys, '[{"key": "only-mine", "plan": "enterprise", "perMinute": 4, "perDay": 1000}]')
    const { url, stop } = await start('localhost:0', ...flags), page = await open({ url })
    const first = page.locator('#first'), key = page.locator('.own'), meter = page.locator('.meter')
    check('a key of demo is gone', [await key.inputValue(), await meter.innerText()], ['', 'No key'])
    await key.fill('wrong')
    await send(first, '401 Unauthorized')
    await press(first, 'Paste your key')
    await page.locator('header:has(.own[aria-invalid=true]:focus)', { hasText: 'Unknown key' }).waitFor()
    await key.fill('only-mine')
    await send(first, '200 OK')
    check('its limit, but not itself, is shown', await page.locator('body').innerText(),
      /^(?=[^]*3 of 4 requests left)((?!only-mine)[^])*$/)
    await press(first, 'Send until 429', '429 Too Many Requests')
    await stop()
    await meter.getByText('No server').waitFor() // the page asks each second of a wait
    await press(first, 'Send', 'The server could not be reached')
    await start(new URL(url).host, ...flags)
    await meter.getByText('Your key').waitFor()
    await first.getByText('You can send again.').waitFor()
  },
  async 'code that runs'({ open, check, isChromium }) {
    if (!isChromium) return
    const page = await open({ permissions: ['clipboard-read', 'clipboard-write'] })
    const file = join(temp, 'code'), panel = page.locator('#createPet .panel')
    const name = `D'Artagnan $HOME "!" \\ \`é\``
    const runners = { curl: 'bash .sh', JavaScript: 'node .mjs', Python: 'python3 .py', Go: 'go run .go' }
    await panel.locator('[name=body]').fill(JSON.stringify({ name, categoryId: 2 }, null, 2))
    for (const [language, runner] of Object.entries(runners)) {
      const [command, ...args] = runner.replace('.', `${file}.`).split(' ')
      await press(panel, language)
      await press(panel.locator('.tabs'), 'Copy the code', 'Copied')
      writeFileSync(args.at(-1), await page.evaluate(() => navigator.clipboard.readText()))
      const output = execFileSync(command, args, { encoding: 'utf8', stdio: 'pipe' })
      check(language, [output.includes('201'), JSON.parse(output.match(/\{"id.*\}/)[0]).name], [true, name])
    }
    check('gofmt changes nothing', execFileSync('gofmt', ['-l', `${file}.go`], { encoding: 'utf8' }), '')
    check('as one writes it', readFileSync(`${file}.mjs`, 'utf8'), /await fetch[^]*stringify\(\{\n +name: /)
  },
}
const { CHROMIUM = '/usr/bin/chromium', FIREFOX } = process.env, env = { ...process.env, HOME: temp }
const browsers = [chromium.launch({ executablePath: CHROMIUM, chromiumSandbox: process.getuid?.() !== 0 })]
// playwright-core 1.65 sends a command that Firefox ESR 153 does not know; 1.64 does not.
if (FIREFOX) browsers.push(firefox.launch({ channel: 'moz-firefox', executablePath: FIREFOX, env }))
await Promise.all((await Promise.all(browsers)).map(browser => {
  const queue = Object.entries(journeys).filter(([name]) => name.includes(process.argv[2] ?? '')).values()
  const travelOn = async () => { for (const [name, go] of queue) await travel(browser, name, go) }
  return Promise.all([travelOn(), travelOn()])
}))
console.log([...failures, `${passed.length} passed, ${failures.length} failed`].join('\n'))
process.exit(failures.length ? 1 : 0)
