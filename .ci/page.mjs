// Uses the reference page as people do, in Chromium and in Firefox: each journey has servers of its own. CHROMIUM and
// FIREFOX name the browsers; without FIREFOX it is left out. An argument chooses journeys by a part of their names.
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
    Object.assign(this, { browser, name, isChromium: browser.browserType() === chromium })
  }
  fail(text) { failures.push(`${this.isChromium ? 'Chromium' : 'Firefox'}, ${this.name}: ${text}`) }
  check(promise, got, wanted = true) {
    if (wanted instanceof RegExp ? wanted.test(got) : isDeepStrictEqual(got, wanted)) passed++
    else this.fail(`${promise}: ${JSON.stringify(got)}, not ${wanted instanceof RegExp ? wanted : JSON.stringify(wanted)}`)
  }

  // open starts a server, unless there is one, and opens its page with a key.
  async open({ width = 1366, height = 768, key = 'demo-business', path = '/', flags = [], url, ...options } = {}) {
    url ??= (await start('localhost:0', ...flags)).url
    const page = await this.browser.newPage({ viewport: { width, height }, ...options })
    page.setDefaultTimeout(20_000)
    page.on('request', request => request.url().startsWith(url) || this.fail(`asks elsewhere: ${request.url()}`))
    page.on('pageerror', error => this.fail(error.stack))
    page.on('console', message => /^Failed to load|Password field/.test(message.text()) || this.fail(message.text()))
    await page.addInitScript(key => {
      if (location.protocol !== 'http:' || sessionStorage.getItem('petstore.key')) return // nothing opened, or a reload
      sessionStorage.setItem('petstore.key', JSON.stringify(key))
    }, key)
    await page.goto(url + path)
    await page.locator('nav [aria-current]').waitFor({ state: 'attached' })
    return page
  }
}
async function send(panel, outcome) {
  await panel.locator('.send').click()
  await panel.locator('.outcome', { hasText: outcome }).waitFor()
}
const press = (place, name) => place.getByRole('button', { name, exact: true }).first().click()
const texts = locator => locator.allTextContents()
const scrolled = page => page.evaluate(() => scrollY)
const isSeen = locator => locator.evaluate(part => {
  const { left, top, width } = part.getBoundingClientRect()
  return width > 0 && part.contains(document.elementFromPoint(left + 3, top + 3))
})

const journeys = {
  async 'limits, until a ban'(journey) {
    const page = await journey.open({ key: 'demo-free' }), first = page.locator('#first'), meter = page.locator('.meter')
    const outcome = first.locator('.outcome'), many = first.locator('.many'), strong = meter.locator('strong')
    const outcomes = new Set(), width = () => meter.locator('i').evaluate(bar => bar.getBoundingClientRect().width)
    journey.check('how many requests it takes', await first.locator('.count').textContent(), '61 requests')
    await many.click()
    while (!await first.getByText('429 Too Many Requests').isVisible()) outcomes.add(await outcome.textContent())
    journey.check('the outcome changes with each response, and is not dimmed', [outcomes.size > 5,
      await outcome.evaluate(part => getComputedStyle(part).opacity)], [true, '1'])
    journey.check('a wait', [await strong.textContent(), await first.locator('.send').textContent()].join(),
      /^Wait \d+\ss,Send anyway$/)
    journey.check('what comes next is told', await many.textContent(), 'Send until 403 (bans this key for 5 minutes)')
    journey.check('in Errors, too', (await texts(page.locator('#errors button'))).includes(await many.textContent()))
    const widths = [await width()]
    await many.click()
    for (const strikes of [3, 6]) {
      const dots = '●'.repeat(strikes) + '○'.repeat(10 - strikes)
      await first.getByText(`${dots} ${strikes} of 10 strikes`).waitFor()
      widths.push(await width())
    }
    journey.check('the bar drains while it waits', widths[0] > widths[1] && widths[1] > widths[2] || widths)
    await first.getByText('403 Forbidden').waitFor()
    journey.check('a ban', await meter.innerText(), /^Banned for [45]\smin.*\s+Free: wait, or choose another key/)
    journey.check('it is announced', await meter.locator('[role=status]').textContent(), /^Banned for/)
    await press(page, 'Pro')
    await send(first, '200 OK')
    journey.check('another key works', await strong.textContent(), '299 of 300 left')
    journey.check('nothing has moved', await scrolled(page), 0)
  },

  async 'a first request'(journey) {
    const page = await journey.open({ key: 'demo-free' }), first = page.locator('#first'), meter = page.locator('.meter')
    const level = () => meter.locator('i').evaluate(bar => Math.round(bar.getBoundingClientRect().width) / bar.offsetWidth)
    journey.check('the limit is known', await meter.innerText(), /^60 of 60 left\s+Free: 60 requests a minute/)
    journey.check('the bar is full', await level(), 1)
    journey.check('Send and the code are on the first screen, beside the introduction', await first.evaluate(first => {
      const box = selector => document.querySelector(selector).getBoundingClientRect()
      return Math.max(box('#first .send').bottom, box('#first .code').bottom) < 768 && box('#first').left > box('h1').right
    }))
    await send(first, '200 OK')
    journey.check('one less', [await meter.locator('strong').textContent(), await level() < 1], ['59 of 60 left', true])
    journey.check('the response is on the first screen', await isSeen(first.getByRole('button', { name: '3 more' })))
    await press(first, '3 more')
    journey.check('all of the list', await first.locator('.response .name', { hasText: '"id"' }).count(), 5)
    await press(page, 'Pro')
    journey.check('another key', await meter.innerText(), /^300 of 300 left\s+Pro: 300 requests a minute/)
    await page.locator('.scheme').click()
    await page.reload()
    journey.check('the scheme stays', await page.evaluate(() => document.documentElement.style.colorScheme), 'dark')
    await press(page, 'Free')
    journey.check('a reload forgets no limit', await meter.innerText(), /^59 of 60 left/)
    journey.check('a key is kept for the session alone', await page.evaluate(() =>
      [document.cookie, JSON.stringify(localStorage).includes('demo-')]), ['', false])
  },

  async 'errors to try'(journey) {
    const page = await journey.open({ path: '/#errors' }), first = page.locator('#first')
    journey.check('every code is explained', await texts(page.locator('#errors td:nth-child(2)')),
      api.components.schemas.Error.properties.code.enum)
    for (const button of await page.locator('#errors button:not(:text("until"))').all()) {
      const code = await button.locator('xpath=ancestor::tr').locator('code').first().textContent()
      await button.scrollIntoViewIfNeeded()
      const before = await scrolled(page)
      await button.click()
      await first.locator('.response').getByText(`"${code}"`).waitFor()
      journey.check(`${code} is tried in place`, [Math.abs(await scrolled(page) - before) < 2,
        await isSeen(first.locator('.outcome'))], [true, true])
    }
    await page.setViewportSize({ width: 390, height: 844 })
    await press(page.locator('#errors'), 'Try 404')
    await first.locator('.response').getByText('"not_found"').waitFor()
    journey.check('on a phone it leads to the panel', await isSeen(first.locator('.outcome')))
    await page.goBack()
    journey.check('and Back to the errors', await page.evaluate(() => location.hash), '#errors')
  },

  async 'operations'(journey) {
    const page = await journey.open(), panel = id => page.locator(`#${id} .try`)
    const field = (id, name) => panel(id).locator(`[name=${name}]`)
    for (const { operationId, summary, responses } of Object.values(api.paths).flatMap(path => Object.values(path))) {
      const article = page.locator(`article#${operationId}`), entry = page.locator(`nav [href="#${operationId}"] :is(span, s)`)
      journey.check(`${operationId} and its statuses`, [await article.locator('h4').textContent(), await entry.first().textContent(),
        (await texts(article.locator('.fold :is(b.good, b.bad)'))).sort()], [summary, summary, Object.keys(responses).sort()])
    }
    journey.check('deprecated is struck through', await texts(page.locator('nav s, h4 s')), Array(2).fill('Get a pet'))
    journey.check('labels', await texts(page.locator('main .badge')), ['Deprecated', 'Beta', 'Experimental'])
    journey.check('one operation has no try-out', await page.locator('.send[hidden]').count(), 1)

    await field('createPet', 'body').fill('{"name": "<img src=x>", "categoryId": 2}')
    await send(panel('createPet'), '201 Created')
    journey.check('what is named like HTML is text', await panel('createPet').locator('.response').textContent(), /"<img src=x>"/)
    journey.check('the example stays, folded', await panel('createPet').locator('.example:not([open])').count(), 1)
    await panel('createPet').getByText('Location: /pets/6').click()
    journey.check('the new record is filled in', [new URL(page.url()).hash, await field('getPet', 'petId').inputValue(),
      await panel('deletePet').locator('.address').textContent()], ['#getPet', '6', '/pets/6'])
    for (const [id, name, value, status] of [['createPet', 'body', '{"name": 1}', 400], ['listPets', 'after', 'x', 400],
      ['getPet', 'petId', 'x', 400], ['getPet', 'petId', '999', 404]]) {
      await field(id, name).fill(value)
      await send(panel(id), String(status))
      journey.check(`${id} marks ${value}`, await field(id, name).getAttribute('aria-invalid'), String(status === 400))
    }
    await field('getPet', 'petId').fill('')
    await send(panel('getPet'), 'Not sent: petId is required.')

    await field('listPets', 'after').fill('')
    await field('listPets', 'limit').fill('2')
    await send(panel('listPets'), '200 OK')
    await press(panel('listPets'), 'Next page')
    await panel('listPets').locator('.response').getByText('"Misty"').waitFor()
    journey.check('the address', await panel('listPets').locator('.address').textContent(), '/pets?limit=2&after=2')
    const row = page.locator('#listPets .fold > details').nth(1), example = panel('listPets').locator('.example')
    await row.locator('summary').click()
    journey.check('a row chooses its example', await example.locator('[aria-pressed=true]').textContent(), '400')
    await press(row, 'Repeated query parameter')
    journey.check('a name chooses another', await example.textContent(), /limit must be given once/)
    await row.getByText('Try 400').last().click()
    await panel('listPets').getByText('400 Bad Request').waitFor()
    journey.check('what a mistake adds is seen', await panel('listPets').locator('.extra').textContent(), '+ ?limit=1&limit=2 ×')
    await page.locator('.log summary').click()
    const entries = page.locator('.entry')
    journey.check('the log has a line for each', await entries.evaluateAll(all => Math.max(...all.map(one => one.offsetHeight))) < 32)
    await entries.nth(1).click()
    await panel('listPets').getByText(/200 OK.*sent at .*Business/).waitFor()
  },

  async 'a page that never moves by itself'(journey) {
    const page = await journey.open({ path: '/#listPets' }), panel = page.locator('#listPets .try')
    const place = () => page.evaluate(() => {
      const part = document.elementFromPoint(500, 400)
      return [part.textContent, Math.round(part.getBoundingClientRect().top)]
    })
    await page.route('**/pets', route => sleep(2000).then(() => route.continue()))
    await panel.locator('.send').click()
    await page.mouse.move(500, 400)
    await page.mouse.wheel(0, 3000)
    let far = await sleep(500).then(place)
    while (!isDeepStrictEqual(far, await sleep(100).then(place))) far = await place() // until the wheel has come to rest
    await panel.locator('.outcome', { hasText: '200' }).waitFor({ state: 'attached' })
    journey.check('a late response', await sleep(200).then(place), far)
    const row = page.locator('#getPet .fold > details').nth(1)
    await row.locator('summary').evaluate(summary => summary.scrollIntoView({ block: 'center' }))
    await row.locator('summary').click()
    await row.getByText('Try 400').scrollIntoViewIfNeeded()
    const here = await scrolled(page)
    await press(row, 'Try 400')
    await page.locator('#getPet .outcome', { hasText: '400' }).waitFor()
    journey.check('an error tried beside its panel', [await scrolled(page), await isSeen(page.locator('#getPet .send'))], [here, true])
    journey.check('no scroller inside a scroller', await page.evaluate(() => {
      for (const details of document.querySelectorAll('main details')) details.open = true
      const scrolls = part => part.scrollHeight > part.clientHeight + 1 && getComputedStyle(part).overflowY !== 'visible'
      return [...document.querySelectorAll('main :not(code)')].filter(scrolls).map(part => part.outerHTML.slice(0, 80))
    }), [])
  },

  async 'the keyboard alone'(journey) {
    const page = await journey.open({ width: 1280, height: 720 }), type = key => page.keyboard.press(key), wrong = []
    const look = () => page.evaluate(async () => {
      await new Promise(resolve => setTimeout(resolve, 5))
      const { activeElement: part } = document, { top, bottom } = part.getBoundingClientRect(), { outlineStyle } = getComputedStyle(part)
      const id = part.closest('article, article section:not(#first)')?.id, isIn = bottom > 0 && top < innerHeight
      const fault = !isIn ? 'off the screen' : id && document.querySelector('nav [aria-current]').hash !== `#${id}` && 'not marked'
      return { y: scrollY, fault, hasOutline: outlineStyle !== 'none', isEnd: part.matches('#getPet *'), html: part.outerHTML.slice(0, 60) }
    })
    let last = { y: 0 }, now = last
    for (let count = 0; count < 250 && !now.isEnd; count++, last = now) {
      await type('Tab')
      now = await look()
      if (!now.hasOutline && journey.isChromium) now.fault = 'no outline' // Firefox draws none in a window behind another
      if (now.fault || now.y < last.y - 360) wrong.push([now, last.y])
    }
    journey.check('Tab goes down the page, and the mark with it', [now.isEnd, wrong], [true, []])
    await page.locator('#createCategory h4 a').focus()
    await type('Tab')
    await type('Control+Enter')
    await page.locator('#createCategory .outcome', { hasText: '201' }).waitFor()
    await page.locator('nav [href="#listInventory"]').press('Enter')
    await type('Control+Enter')
    await page.locator('#listInventory .outcome', { hasText: '200' }).waitFor()
    await page.locator('#listInventory .many').press('Enter')
    await type('Escape')
    await page.locator('#listInventory .many', { hasText: 'Send until 429' }).waitFor()
  },

  async 'every width'(journey) {
    const page = await journey.open()
    await send(page.locator('#first'), '200 OK')
    for (const [width, height] of [[320, 568], [360, 740], [390, 844], [768, 1024], [911, 512], [1093, 614], [1280, 800],
      [1366, 768], [1920, 1080]]) {
      await page.setViewportSize({ width, height })
      journey.check(`at ${width}x${height}, nothing is cut, or too small`, await page.evaluate(() => {
        const parts = [...document.querySelectorAll('body *:not(pre, pre *, template)')].filter(part => part.checkVisibility())
        const isCut = part => part.matches('main :is(div, p, td, li, button, h4, summary), nav a, header')
          && part.scrollWidth > part.clientWidth + 1 && part.clientWidth > 1
        const isBad = part => isCut(part) || parseFloat(getComputedStyle(part).fontSize) < 12
        return [document.documentElement.scrollWidth - innerWidth <= 0, ...parts.filter(isBad).map(part => part.outerHTML.slice(0, 80))]
      }), [true])
      if (width >= 1280) journey.check(`at ${width}x${height}, the whole API is in view`, await page.evaluate(() =>
        [...document.querySelectorAll('nav a')].at(-1).getBoundingClientRect().bottom
          < document.querySelector('aside').getBoundingClientRect().top))
    }
    await page.setViewportSize({ width: 390, height: 844 })
    await press(page, 'Menu')
    await page.locator('nav [href="#errors"]').click()
    journey.check('the menu leads on', [await isSeen(page.locator('#errors h2')), await page.locator('nav').isVisible()], [true, false])
    await press(page, 'Menu')
    await press(page, 'Close')
    journey.check('Close closes it', await page.locator('nav').isVisible(), false)
  },

  async 'axe'(journey) {
    if (!journey.isChromium) return
    const page = await journey.open({ key: 'demo-free' }), include = ['header', 'aside', '#overview', '#group-animals']
    await send(page.locator('#listPets'), '200 OK')
    await page.locator('#getPet [name=petId]').fill('x')
    await send(page.locator('#getPet'), '400')
    await press(page.locator('#first'), 'Send until 429')
    await page.locator('#first .outcome', { hasText: '429' }).waitFor()
    await page.evaluate(axe)
    for (const [scheme, width] of [['light', 1366], ['dark', 390]]) {
      await page.setViewportSize({ width, height: 800 })
      const found = await page.evaluate(async ([scheme, include]) => {
        document.documentElement.style.colorScheme = scheme
        for (const details of document.querySelectorAll('details')) details.open = true
        const rules = { 'target-size': { enabled: true } }
        return (await globalThis.axe.run({ include }, { resultTypes: ['violations'], rules })).violations
      }, [scheme, include])
      journey.check(`${scheme} at ${width}`, found.map(({ id, nodes }) => `${id}: ${nodes[0].html}`), [])
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
    const keys = join(temp, `${journey.isChromium}.json`), flags = ['-keys', keys, '-minute', '30s']
    writeFileSync(keys, '[{"key": "only-mine", "plan": "enterprise", "perMinute": 4, "perDay": 1000}]')
    const { url, stop } = await start('localhost:0', ...flags), page = await journey.open({ url, key: 'demo-pro' })
    const first = page.locator('#first'), key = page.locator('#key'), strong = page.locator('.meter strong')
    journey.check('no demo key of another server', await key.inputValue(), '')
    await send(first, '401 Unauthorized')
    journey.check('an empty key is marked', await key.getAttribute('aria-invalid'), 'true')
    await key.fill('only-mine')
    await send(first, '200 OK')
    journey.check('its limit', await strong.textContent(), '3 of 4 left')
    journey.check('it is not shown', (await page.locator('body').innerText()).includes('only-mine'), false)
    await press(first, 'Send until 429')
    await first.getByText('429 Too Many Requests').waitFor()
    await stop()
    await first.locator('.send:text("Send"):not(.anyway)').waitFor() // it asks each second of a wait
    await first.locator('.send').click()
    await first.getByText('The server cannot be reached').waitFor()
    await start(new URL(url).host, ...flags)
    await send(first, '200 OK')
  },

  async 'code that runs'(journey) {
    if (!journey.isChromium) return
    const page = await journey.open({ permissions: ['clipboard-read', 'clipboard-write'] }), panel = page.locator('#createPet .try')
    const name = `D'Artagnan $HOME "!" \\ \`é\``, go = join(temp, 'main.go')
    const run = (command, ...args) => execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
    await panel.locator('[name=body]').fill(JSON.stringify({ name, categoryId: 2 }, null, 2))
    for (const [language, execute] of Object.entries({
      curl: code => run('bash', '-c', `${code} -s`), JavaScript: code => run('node', '-e', code),
      Python: code => run('python3', '-c', code), Go: code => [writeFileSync(go, code), run('go', 'run', go)][1],
    })) {
      await press(panel, language)
      await panel.locator('.sample .copy').click()
      await panel.locator('.sample').getByText('Copied').waitFor()
      const output = execute(await page.evaluate(() => navigator.clipboard.readText()))
      journey.check(language, [output.includes('201'), JSON.parse(output.match(/\{"id.*\}/)[0]).name], [true, name])
    }
  },

  async 'paper'(journey) {
    if (!journey.isChromium) return
    const page = await journey.open({ colorScheme: 'dark' }), seen = part => page.locator(part).locator('visible=true').count()
    await page.emulateMedia({ media: 'print' })
    journey.check('black on white', await page.evaluate(() => getComputedStyle(document.body).backgroundColor), 'rgb(255, 255, 255)')
    journey.check('code and examples, and nothing to press', [await seen('.code'), await seen('.example .json') > 12,
      await seen('button, input, textarea, nav, aside')], [19, true, 0])
  },

  async 'a page that cannot be drawn'(journey) {
    const page = await journey.open()
    for (const event of ['pageerror', 'console']) page.removeAllListeners(event)
    for (const [path, contentType] of [['/openapi.json', 'application/json'], ['/docs/draw.js', 'text/javascript']]) {
      await page.route(`**${path}`, route => route.fulfill({ contentType, body: 'x y' }))
      await page.reload()
      await page.getByText('The reference could not be made').waitFor()
      journey.check(`${path}: nothing that does nothing`, await page.locator('header, aside').locator('visible=true').count(), 0)
      await page.unroute(`**${path}`)
    }
  },
}

// Firefox ESR does not know one command of Playwright's, for a color scheme that no journey asks for there.
const { send: sendFrame } = ws.prototype
ws.prototype.send = function (data, ...rest) {
  const text = String(data).replace(/"emulation.setMediaFeaturesOverride","params":.*}/, '"session.status","params":{}}')
  return sendFrame.call(this, text, ...rest)
}
const flags = ['--disable-gpu', '--disable-background-networking', '--disable-component-update', '--disable-sync']
const { CHROMIUM = '/usr/bin/chromium', FIREFOX, TIMES } = process.env, chosen = process.argv[2] ?? ''
const browsers = [chromium.launch({ executablePath: CHROMIUM, chromiumSandbox: process.getuid?.() !== 0, args: flags })]
if (FIREFOX) browsers.push(firefox.launch({ channel: 'moz-firefox', executablePath: FIREFOX, env: { ...process.env, HOME: temp } }))
await Promise.all(browsers.map(async launched => {
  const browser = await launched, began = Date.now()
  const queue = Object.entries(journeys).filter(([name]) => name.includes(chosen))
  async function travel() {
    for (let next; (next = queue.shift());) {
      const [name, go] = next, journey = new Journey(browser, name), start = Date.now()
      await go(journey).catch(error => journey.fail(error.stack))
      if (TIMES) console.log(browser.browserType().name(), name, Date.now() - start)
    }
  }
  await Promise.all([travel(), travel()])
  console.log(`${browser.browserType().name()}: ${Math.round((Date.now() - began) / 1000)} s`)
  await browser.close()
}))
for (const failure of failures) console.log(failure)
console.log(`${passed} passed, ${failures.length} failed`)
process.exit(failures.length ? 1 : 0)
