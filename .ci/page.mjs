// Uses the reference page as people do, in Chromium and in Firefox. Each journey has a server of its own. CHROMIUM and
// FIREFOX name the browsers; without the second, it is left out. PETSTORE may name a server that is built already.
import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import { chromium, firefox } from 'playwright-core'
import { ws } from 'playwright-core/lib/utilsBundle'

const root = fileURLToPath(new URL('..', import.meta.url)), temp = mkdtempSync(join(tmpdir(), 'petstore-'))
const binary = process.env.PETSTORE ?? join(temp, 'petstore.exe'), servers = new Set()
process.on('exit', () => {
  for (const server of servers) server.kill('SIGKILL')
  rmSync(temp, { recursive: true, force: true, maxRetries: 5 })
})
for (const event of ['SIGHUP', 'SIGINT', 'SIGTERM']) process.on(event, () => process.exit(1))
if (!process.env.PETSTORE) execFileSync('go', ['build', '-o', binary, '.'], { cwd: root, stdio: 'inherit' })
const api = JSON.parse(readFileSync(join(root, 'docs/openapi.json')))
const axe = readFileSync(join(root, '.ci/node_modules/axe-core/axe.min.js'), 'utf8')

function start(address, ...flags) {
  const server = spawn(binary, ['-addr', address, '-data', '', ...flags], { stdio: ['ignore', 'ignore', 'pipe'] })
  servers.add(server)
  return new Promise((resolve, reject) => {
    let output = ''
    server.stderr.on('data', text => {
      const url = (output += text).match(/Petstore API: (http\S+)\n/)?.[1]
      if (url) resolve({ url, stop: () => new Promise(stopped => server.on('exit', stopped).kill()) })
    })
    server.on('exit', () => reject(new Error(`the server ended: ${output}`)))
  })
}

let passed = 0
const failures = []
class Journey {
  constructor(browser, name) {
    Object.assign(this, { browser, name, isChromium: browser.browserType() === chromium, messages: [] })
  }
  check(promise, got, wanted = true) {
    if (wanted instanceof RegExp ? wanted.test(got) : isDeepStrictEqual(got, wanted)) passed++
    else this.fail(`${promise}: ${JSON.stringify(got)}, not ${wanted instanceof RegExp ? wanted : JSON.stringify(wanted)}`)
  }
  fail(text) { failures.push(`${this.isChromium ? 'Chromium' : 'Firefox'}, ${this.name}: ${text}`) }

  // open starts a server, and opens its page with a key.
  async open({ width = 1366, height = 768, key = 'demo-business', path = '/', flags = [], url, ...options } = {}) {
    url ??= (await start('localhost:0', ...flags)).url
    const context = await this.browser.newContext({ viewport: { width, height }, ...options })
    context.setDefaultTimeout(10_000)
    const page = await context.newPage()
    page.on('request', request => request.url().startsWith(url) || this.fail(`asks elsewhere: ${request.url()}`))
    page.on('pageerror', error => this.fail(error.stack))
    page.on('console', message => /^Failed to load|inline style|Password field/.test(message.text()) || this.fail(message.text()))
    await page.addInitScript(key => {
      if (location.protocol !== 'http:' || sessionStorage.getItem('petstore.key')) return // also of the page before it
      sessionStorage.setItem('petstore.key', JSON.stringify(key))
    }, key)
    await page.goto(url + path)
    await page.locator('nav [aria-current]').waitFor({ state: 'attached' })
    return page
  }
}
const send = async (panel, status) => {
  await panel.locator('.send').click()
  await panel.locator('.outcome', { hasText: status }).waitFor()
}
const texts = locator => locator.allTextContents()
const scrolled = page => page.evaluate(() => Math.round(scrollY))
const isSeen = locator => locator.evaluate(part => {
  const { left, top, width } = part.getBoundingClientRect(), hit = document.elementFromPoint(left + 3, top + 3)
  return width > 0 && top >= 0 && top < innerHeight - 20 && part.contains(hit)
})

const journeys = {
  async 'limits, until a ban'(journey) {
    const page = await journey.open({ key: 'demo-free' }), first = page.locator('#first'), meter = page.locator('.meter')
    const outcomes = new Set(), watch = async () => outcomes.add(await first.locator('.outcome').textContent())
    const many = first.locator('.many'), strong = meter.locator('strong')
    journey.check('how many requests it takes', await first.locator('.count').textContent(), '61 requests')
    await many.click()
    while (!await first.getByText('429 Too Many Requests').isVisible()) await watch()
    journey.check('the outcome changes with each response, and is not dimmed', [outcomes.size > 5,
      await first.locator('.outcome').evaluate(part => getComputedStyle(part).opacity)], [true, '1'])
    journey.check('a wait', [await strong.textContent(), await first.locator('.send').textContent()].join(),
      /^Wait \d+\ss,Send anyway$/)
    journey.check('what comes next is told', await many.textContent(), 'Send until 403 (bans this key for 5 minutes)')
    journey.check('in Errors, too', (await texts(page.locator('#errors button'))).includes(await many.textContent()))
    const width = () => meter.locator('i').evaluate(bar => bar.getBoundingClientRect().width), widths = [await width()]
    await many.click()
    for (const strikes of [3, 6]) {
      await first.getByText(`${'●'.repeat(strikes)}${'○'.repeat(10 - strikes)} ${strikes} of 10`).waitFor()
      widths.push(await width())
    }
    journey.check('the bar drains while it waits', widths[0] > widths[1] && widths[1] > widths[2] || widths)
    await first.getByText('403 Forbidden').waitFor()
    journey.check('a ban', await meter.innerText(), /^Banned for [45]\smin.*\s+Free: wait, or choose another key/)
    journey.check('it is announced', await meter.locator('[role=status]').textContent(), /^Banned for/)
    await page.locator('.key').getByText('Pro', { exact: true }).click()
    await send(first, '200 OK')
    journey.check('another key works', await strong.textContent(), '299 of 300 left')
    journey.check('nothing has moved', await scrolled(page), 0)
  },

  async 'a first request'(journey) {
    const page = await journey.open({ key: 'demo-free' }), first = page.locator('#first'), meter = page.locator('.meter')
    const level = () => meter.locator('i').evaluate(bar => Math.round(bar.getBoundingClientRect().width) / bar.offsetWidth)
    journey.check('the limit is known', await meter.locator('p').first().innerText(),
      /^60 of 60 left\s+Free: 60 requests a minute$/)
    journey.check('the bar is full', await level(), 1)
    journey.check('Send is on the first screen, beside the introduction', await first.evaluate(first =>
      [first.querySelector('.send'), first.querySelector('.code')].every(part => part.getBoundingClientRect().bottom < 700)
      && first.getBoundingClientRect().left > document.querySelector('h1').getBoundingClientRect().right))
    await send(first, '200 OK')
    journey.check('one less', await meter.locator('strong').textContent(), '59 of 60 left')
    journey.check('the bar drains', await level() < 1)
    journey.check('the response is on the first screen', await isSeen(first.locator('.response').getByText('"Bella"')))
    await first.getByRole('button', { name: '3 more' }).click()
    journey.check('all of the list', await first.locator('.response .name', { hasText: '"id"' }).count(), 5)
    await page.locator('.key').getByText('Pro', { exact: true }).click()
    journey.check('another key', await meter.innerText(), /^300 of 300 left\s+Pro: 300 requests a minute/)
    await page.reload()
    await page.locator('.key').getByText('Free', { exact: true }).click()
    journey.check('a reload forgets no limit', await meter.innerText(), /^59 of 60 left/)
    await page.locator('.scheme').click()
    await page.reload()
    journey.check('the other scheme stays', await page.evaluate(() =>
      getComputedStyle(document.body).backgroundColor), 'rgb(14, 18, 23)')
    journey.check('a key is kept for the session alone', await page.evaluate(() =>
      [document.cookie, JSON.stringify(localStorage).includes('demo-')]), ['', false])
  },

  async 'errors to try'(journey) {
    const page = await journey.open({ path: '/#errors' }), first = page.locator('#first')
    for (const button of await page.locator('#errors button:not(:text("until"))').all()) {
      const row = button.locator('xpath=ancestor::tr'), code = await row.locator('code').first().textContent()
      await button.scrollIntoViewIfNeeded()
      const before = await scrolled(page)
      await button.click()
      await first.locator('.response').getByText(`"${code}"`).waitFor()
      journey.check(`${code} is tried in place`, [Math.abs(await scrolled(page) - before) < 2, await isSeen(first.locator('.outcome'))], [true, true])
    }
    const isKnown = await texts(page.locator('#errors td:nth-child(2)'))
    journey.check('every code is explained', isKnown, api.components.schemas.Error.properties.code.enum)
    await page.setViewportSize({ width: 390, height: 844 })
    await page.locator('#errors button', { hasText: 'Try 404' }).click()
    await first.locator('.response').getByText('"not_found"').waitFor()
    journey.check('on a phone it leads to the panel', await isSeen(first.locator('.outcome')))
    await page.goBack()
    journey.check('and Back to the errors', await page.evaluate(() => location.hash), '#errors')
  },

  async 'operations'(journey) {
    const page = await journey.open(), panel = id => page.locator(`#${id} .try`), field = (id, name) => panel(id).locator(`[name=${name}]`)
    const operations = Object.values(api.paths).flatMap(path => Object.values(path)).filter(({ operationId }) => operationId)
    for (const { operationId, summary, responses } of operations) {
      const article = page.locator(`article#${operationId}`), link = page.locator(`nav [href="#${operationId}"]`)
      journey.check(`${operationId} is named`, [await article.locator('h4').textContent(), await link.locator('span, s').first().textContent()], [summary, summary])
      const shown = await texts(article.locator('.fold b.good, .fold b.bad'))
      journey.check(`${operationId} lists its statuses`, shown.sort(), Object.keys(responses).sort())
    }
    journey.check('deprecated is struck through', await texts(page.locator('nav s, h4 s')), Array(2).fill('Get a pet'))
    journey.check('labels', await texts(page.locator('main .badge')), ['Deprecated', 'Beta', 'Experimental'])
    journey.check('one operation has no try-out', await page.locator('.try:not(:has(.send:not([hidden])))').count(), 1)

    await field('createPet', 'body').fill('{"name": "<img src=x>", "categoryId": 2}')
    await send(panel('createPet'), '201 Created')
    journey.check('what is named like HTML is text', await panel('createPet').locator('.json').first().textContent(), /"<img src=x>"/)
    journey.check('the example stays, folded', await panel('createPet').locator('.example').evaluate(({ open }) => open), false)
    await panel('createPet').getByText('Location: /pets/6').click()
    journey.check('the new record is filled in', [new URL(page.url()).hash, await field('getPet', 'petId').inputValue(),
      await panel('deletePet').locator('.address').textContent()], ['#getPet', '6', '/pets/6'])
    for (const [id, name, value, status] of [['createPet', 'body', '{"name": 1}', 400], ['listPets', 'after', 'x', 400],
      ['getPet', 'petId', 'x', 400], ['getPet', 'petId', '999', 404]]) {
      await field(id, name).fill(value)
      await send(panel(id), String(status))
      journey.check(`${id} with ${value} marks the field`, await field(id, name).getAttribute('aria-invalid'), String(status === 400))
    }
    await field('getPet', 'petId').fill('')
    await send(panel('getPet'), 'Not sent: petId is required.')

    await field('listPets', 'after').fill('')
    await field('listPets', 'limit').fill('2')
    await send(panel('listPets'), '200 OK')
    await panel('listPets').getByText('Next page').click()
    await panel('listPets').locator('.address', { hasText: '/pets?limit=2&after=2' }).waitFor()
    await panel('listPets').locator('.response').getByText('"Misty"').waitFor()
    const rows = page.locator('#listPets .more .fold > details')
    await rows.nth(1).locator('summary').click()
    journey.check('a row chooses its example', await panel('listPets').locator('.example [aria-pressed=true]').textContent(), '400')
    await rows.nth(1).getByText('Repeated query parameter').click()
    journey.check('a name chooses another', await panel('listPets').locator('.example .json').textContent(), /limit must be given once/)
    await rows.nth(1).getByText('Try 400').last().click()
    await panel('listPets').getByText('400 Bad Request').waitFor()
    journey.check('what a mistake adds is seen', await panel('listPets').locator('.extra').textContent(), /^\+ \?limit=1&limit=2 ×$/)
    await page.locator('.log summary').click()
    const entries = page.locator('.entry')
    journey.check('the log has one line a request', await entries.evaluateAll(all => all.every(({ clientHeight: height }) => height < 32)))
    await entries.nth(1).click()
    await panel('listPets').getByText(/200 OK.*sent at .*Business/).waitFor()
  },

  async 'a page that never moves by itself'(journey) {
    const page = await journey.open({ path: '/#listPets' }), panel = page.locator('#listPets .try')
    await page.route('**/pets*', route => sleep(600).then(() => route.continue()))
    await panel.locator('.send').click()
    await page.mouse.move(500, 400)
    await page.mouse.wheel(0, 3000)
    await sleep(300)
    const place = () => page.evaluate(() => {
      const part = document.elementFromPoint(500, 400)
      return [part.textContent, Math.round(part.getBoundingClientRect().top)]
    })
    let far = await place()
    while (!isDeepStrictEqual(far, await sleep(100).then(place))) far = await place() // the wheel has come to rest
    await panel.locator('.outcome', { hasText: '200' }).waitFor({ state: 'attached' })
    await sleep(200)
    journey.check('a late response', await place(), far)
    await page.unroute('**/pets*')
    await page.locator('#createPet .cases button.quiet').first().evaluate(button => button.closest('details').open = true)
    const trial = page.locator('#createPet .cases button.quiet').first()
    await trial.evaluate(button => button.scrollIntoView({ block: 'center' }))
    const here = await scrolled(page)
    await trial.click()
    await page.locator('#createPet .outcome', { hasText: '400' }).waitFor()
    journey.check('an error tried beside its panel', [await scrolled(page), await isSeen(page.locator('#createPet .send'))], [here, true])
    journey.check('no scroller inside a scroller', await page.evaluate(() => {
      for (const details of document.querySelectorAll('main details')) details.open = true
      return [...document.querySelectorAll('main *')].filter(part => part.scrollHeight > part.clientHeight + 1
        && /auto|scroll/.test(getComputedStyle(part).overflowY) && !part.matches('.code')).map(part => part.outerHTML.slice(0, 80))
    }), [])
  },

  async 'the keyboard alone'(journey) {
    const page = await journey.open({ width: 1280, height: 720 }), press = key => page.keyboard.press(key)
    await page.evaluate(hasOutlines => {
      globalThis.wrong = []
      let before = 0
      addEventListener('keydown', ({ key }) => { // looks where the last Tab has led
        const { activeElement: target } = document, { top, bottom } = target.getBoundingClientRect(), y = scrollY
        const id = target.closest('article, article section:not(#first)')?.id, isSeen = bottom > 0 && top < innerHeight
        const isMarked = !id || document.querySelector('nav [aria-current]').hash === `#${id}`
        const isVisible = !hasOutlines || target === document.body || getComputedStyle(target).outlineStyle !== 'none'
        const fault = !isVisible ? 'no outline' : !isSeen ? 'off the screen' : !isMarked ? 'not marked' : y < before - innerHeight / 2 && 'back'
        if (fault && key === 'Tab') wrong.push(`${fault} from ${before} to ${y}: ${target.outerHTML.slice(0, 60)}`)
        before = y
      })
    }, journey.isChromium) // a window of the other that is not in front draws none
    const end = journey.isChromium ? '#updateInventory *' : '#getPet *' // the other is slow
    const isAtEnd = () => page.evaluate(end => document.activeElement.matches(end), end)
    for (let i = 0; i < 40 && !await isAtEnd(); i++)
      for (let i = 0; i < 20; i++) await press('Tab')
    journey.check('Tab goes down the page, and the mark with it', await page.evaluate(() => wrong), [])
    journey.check('to the end', await isAtEnd())
    await page.locator('nav [href="#createCategory"]').press('Enter')
    await page.locator('#createCategory h4 a').focus()
    await press('Tab')
    journey.check('the form comes first', await page.evaluate(() => document.activeElement.closest('form')?.ariaLabel), 'Try it: Create a category')
    await press('Control+Enter')
    await page.locator('#createCategory .outcome', { hasText: '201' }).waitFor()
    await page.locator('nav [href="#listInventory"]').press('Enter')
    await press('Control+Enter')
    await page.locator('#listInventory .outcome', { hasText: '200' }).waitFor()
    await page.locator('#listInventory .many').press('Enter')
    await press('Escape')
    await page.locator('#listInventory .many', { hasText: 'Send until 429' }).waitFor()
  },

  async 'every width'(journey) {
    const page = await journey.open()
    await send(page.locator('#first'), '200 OK')
    for (const [width, height] of [[320, 568], [360, 740], [390, 844], [768, 1024], [911, 512], [1093, 614], [1280, 800], [1366, 768], [1920, 1080]]) {
      await page.setViewportSize({ width, height })
      journey.check(`at ${width}x${height}`, await page.evaluate(() => {
        const { scrollWidth, clientWidth } = document.documentElement
        const isCut = part => part.scrollWidth > part.clientWidth + 1 && part.clientWidth > 1
        const parts = [...document.querySelectorAll('main :is(div, p, td, li, button, h4, summary), nav a, header')]
        const small = [...document.querySelectorAll('body *')].filter(part => parseFloat(getComputedStyle(part).fontSize) < 12)
        return [scrollWidth - clientWidth, parts.filter(isCut).map(part => part.outerHTML.slice(0, 90)), small.length]
      }), [0, [], 0])
      if (height < 768 || width < 960) continue
      journey.check(`the whole API is in view at ${width}x${height}`, await page.locator('nav a').evaluateAll(links =>
        links.every(link => link.getBoundingClientRect().bottom < document.querySelector('aside').getBoundingClientRect().top)))
    }
    await page.setViewportSize({ width: 390, height: 844 })
    await page.getByRole('button', { name: 'Menu' }).click()
    await page.locator('nav [href="#errors"]').click()
    journey.check('the menu leads on, and closes', [await isSeen(page.locator('#errors h2')), await page.locator('nav').isVisible()], [true, false])
    await page.getByRole('button', { name: 'Menu' }).click()
    await page.getByRole('button', { name: 'Close' }).click()
    journey.check('Close closes it', await page.locator('nav').isVisible(), false)
  },

  async 'axe'(journey) {
    if (!journey.isChromium) return
    const page = await journey.open({ key: 'demo-free' })
    await send(page.locator('#first'), '200 OK')
    await page.locator('#getPet [name=petId]').fill('x')
    await send(page.locator('#getPet'), '400')
    await page.locator('#first .many').click()
    await page.locator('#first .outcome', { hasText: '429' }).waitFor()
    await page.evaluate(() => { for (const details of document.querySelectorAll('details')) details.open = true })
    await page.evaluate(axe)
    for (const [scheme, width] of [['light', 1366], ['dark', 390]]) {
      await page.setViewportSize({ width, height: 800 })
      await page.evaluate(scheme => { document.documentElement.style.colorScheme = scheme }, scheme)
      const { violations } = await page.evaluate(() => globalThis.axe.run({ resultTypes: ['violations'], rules: { 'target-size': { enabled: true } } }))
      journey.check(`${scheme} at ${width}`, violations.map(({ id, nodes }) => `${id}: ${nodes[0].html}`), [])
    }
  },

  async 'a lost response'(journey) {
    const page = await journey.open({ flags: ['-drop', '1/2'] }), panel = page.locator('#createPet')
    await panel.locator('.send').click()
    await panel.getByText('No response came, but the server is still there').waitFor()
    journey.check('the log says so', await page.locator('.entry').textContent(), /^POST\/petsno response/)
    await send(panel, '201 Created')
  },

  async 'a server with a keys file, that ends and starts again'(journey) {
    const keys = join(temp, `${journey.isChromium}.json`), flags = ['-keys', keys, '-minute', '10s']
    writeFileSync(keys, '[{"key": "only-mine", "plan": "enterprise", "perMinute": 4, "perDay": 1000}]')
    const { url, stop } = await start('localhost:0', ...flags), page = await journey.open({ url, key: 'demo-pro' })
    const first = page.locator('#first'), key = page.locator('#key'), strong = page.locator('.meter strong')
    journey.check('no demo key of another server', await key.inputValue(), '')
    await send(first, '401 Unauthorized')
    journey.check('an empty key is marked', await key.getAttribute('aria-invalid'), 'true')
    await key.fill('only-mine')
    await send(first, '200 OK')
    journey.check('its limit', await strong.textContent(), '3 of 4 left')
    journey.check('it is not shown', await page.locator('body').innerText().then(text => text.includes('only-mine')), false)
    await first.locator('.many').click()
    await first.getByText('429 Too Many Requests').waitFor()
    await stop()
    await strong.filter({ hasText: /^4 of 4 left|^Your key/ }).waitFor()
    await first.locator('.send').click()
    await first.getByText('The server cannot be reached').waitFor()
    await start(new URL(url).host, ...flags)
    await send(first, '200 OK')
  },
}

// Samples run as they are copied, and paper, in Chromium alone.
Object.assign(journeys, {
  async 'code that runs'(journey) {
    if (!journey.isChromium) return
    const page = await journey.open({ permissions: ['clipboard-read', 'clipboard-write'] }), panel = page.locator('#createPet .try')
    const name = `D'Artagnan $HOME "!" \\ \`é\``, go = join(temp, 'main.go')
    await panel.locator('[name=body]').fill(JSON.stringify({ name, categoryId: 2 }, null, 2))
    const run = (command, ...args) => execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
    for (const [language, runs] of Object.entries({
      curl: code => run('bash', '-c', `${code} -s`),
      JavaScript: code => run('node', '-e', code),
      Python: code => run('python3', '-c', code),
      Go: code => [writeFileSync(go, code), run('go', 'run', go)][1],
    })) {
      await panel.locator('.sample .choices').getByText(language, { exact: true }).click()
      await panel.locator('.sample .copy').click()
      await panel.locator('.sample').getByText('Copied').waitFor()
      const output = runs(await page.evaluate(() => navigator.clipboard.readText()))
      journey.check(`${language} creates a pet`, [output.includes('201'), JSON.parse(output.match(/\{"id.*\}/)[0]).name], [true, name])
    }
  },
  async 'paper'(journey) {
    if (!journey.isChromium) return
    const page = await journey.open({ colorScheme: 'dark' }), seen = part => page.locator(part).locator('visible=true').count()
    await page.emulateMedia({ media: 'print' })
    journey.check('on white', await page.evaluate(() => getComputedStyle(document.body).backgroundColor), 'rgb(255, 255, 255)')
    journey.check('code and examples, and nothing to press', [await seen('.code') > 17, await seen('.example .json') > 12,
      await seen('button, input, textarea, nav, aside')], [true, true, 0])
  },
  async 'what is missing'(journey) {
    const page = await journey.open()
    for (const [path, response] of [['/openapi.json', { status: 503, body: '' }], ['/docs/draw.js', { contentType: 'text/javascript', body: 'x y' }]]) {
      await page.route(`**${path}`, route => route.fulfill(response))
      page.removeAllListeners('pageerror')
      page.removeAllListeners('console')
      await page.reload()
      await page.getByText('The reference could not be made').waitFor()
      journey.check(`without ${path} nothing that does nothing`, await page.locator('header, aside').locator('visible=true').count(), 0)
      await page.unroute(`**${path}`)
    }
  },
})

// Firefox ESR does not know one command of Playwright's, which only matters to what no journey asks of it.
const { send: sendFrame } = ws.prototype
ws.prototype.send = function (data, ...rest) {
  const text = String(data).replace(/"emulation.setMediaFeaturesOverride","params":.*}/, '"session.status","params":{}}')
  return sendFrame.call(this, text, ...rest)
}
const browsers = [() => chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', chromiumSandbox: process.getuid?.() !== 0,
  args: ['--disable-gpu', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
})]
if (process.env.FIREFOX) browsers.push(() => firefox.launch({
  channel: 'moz-firefox', executablePath: process.env.FIREFOX, env: { ...process.env, HOME: temp },
}))
const only = process.argv[2] ?? ''
await Promise.all(browsers.map(async launch => {
  const began = Date.now(), browser = await launch(), queue = Object.entries(journeys).filter(([name]) => name.includes(only))
  async function travel() {
    for (let next; next = queue.shift();) {
      const [name, go] = next, journey = new Journey(browser, name), t = Date.now()
      await go(journey).catch(error => journey.fail(error.stack))
      if (only || process.env.TIMES) console.log(name, Date.now() - t)
    }
  }
  await Promise.all([travel(), travel(), travel()])
  console.log(`${browser.browserType().name()}: ${Math.round((Date.now() - began) / 1000)} s`)
  await browser.close()
}))
for (const failure of failures) console.log(failure)
console.log(`${passed} passed, ${failures.length} failed`)
process.exit(failures.length ? 1 : 0)
