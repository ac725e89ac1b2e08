// Uses the reference page as people do. Each test is a journey on a server of its own; its name and the words
// of what it expects say what broke. To run one: cd .ci && npx playwright test --grep keyboard
import { execFileSync, execSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test as base } from 'playwright/test'
const root = join(import.meta.dirname, '..'), phone = { width: 360, height: 740 }
const ownKey = ['-keys', join(import.meta.dirname, 'own-key.json')]
const api = JSON.parse(readFileSync(join(root, 'docs/openapi.json')))
const test = base.extend({
  // binary is the program, which each worker builds once.
  binary: [async ({}, use, { project, workerIndex }) => {
    const binary = join(project.outputDir, `petstore-${workerIndex}`)
    execFileSync('go', ['build', '-o', binary, '.'], { cwd: root })
    await use(binary)
  }, { scope: 'worker' }],
  // server.start takes flags of the program, and returns its URL. The end of a test stops it, if nothing did.
  server: async ({ binary }, use) => {
    let server
    const stop = () => server.kill() && once(server, 'exit')
    const start = async (...flags) => {
      server = spawn(binary, ['-addr', 'localhost:0', '-data', '', ...flags])
      const [output] = await once(server.stderr, 'data')
      return String(output).match(/http\S+/)[0]
    }
    await use({ start, stop })
    server?.kill()
  },
  page: async ({ page }, use) => {
    const isBrowsersOwn = text => /^Failed to load resource|Password field/.test(text)
    const errors = [], elsewhere = []
    page.on('console', message => isBrowsersOwn(message.text()) || errors.push(message.text()))
    page.on('pageerror', error => errors.push(error.stack))
    page.on('request', asked => asked.url().startsWith('http://localhost:') || elsewhere.push(asked.url()))
    await use(page)
    expect(elsewhere, 'no request to elsewhere').toEqual([])
    expect(errors, 'no error in the console').toEqual([])
  },
  first: ({ page }, use) => use(page.locator('#first')), // the panel of a first request
  meter: ({ page }, use) => use(page.locator('.meter')), // what is known of the limit
})
const press = (place, name) => place.getByRole('button', { name, exact: true }).click()
// send sends what a panel holds, and waits for its answer.
async function send(panel, outcome) {
  await panel.locator('.send').click()
  await expect(panel.locator('.answer:not(.stale)'), `the answer: ${outcome}`).toContainText(outcome)
}
// expectSeen waits until nothing, such as a header, covers the upper left corner of a part.
const expectSeen = (part, fact) => expect.poll(() => part.evaluate(part => {
  const { left, top } = part.getBoundingClientRect(), inside = 9 // pixels, to be past a round corner
  return part.contains(document.elementFromPoint(left + inside, top + inside))
}), fact).toBe(true)

test('a first request', async ({ page, server, first, meter }) => {
  await page.goto(await server.start())
  for (const part of ['curl -i', 'Example response', '"Misty"'])
    await expectSeen(first.getByText(part).last(), `${part} is on the first screen`)
  const line = first.locator('.status-line')
  const background = await line.evaluate(part => getComputedStyle(part).backgroundColor)
  await send(first, '200 OK')
  await expectSeen(first.getByText('"Misty"'), 'the response is on the first screen')
  await expect(line, 'it does not look like the example').not.toHaveCSS('background-color', background)
  await press(first, 'Try two pets per page')
  await press(first, 'Next page')
  await expect(first.locator('.answer'), 'there is a second page of two').toContainText('"id": 4')
  await press(page, 'Light or dark')
  await page.locator('#createPet textarea').fill('{}')
  await page.evaluate(() => { sessionStorage['petstore.listPets'] = '{"colour": "red", "limit": "3"}' })
  await page.reload()
  await expect(page.locator('#listPets .address'), 'a lost field is no harm').toHaveText('/pets?limit=3')
  await expect(meter, 'a reload keeps the limit').toContainText('57 of 60 requests left')
  await expect(page.locator('html'), 'a reload keeps the scheme').toHaveCSS('color-scheme', 'dark')
  await expect(page.locator('#createPet textarea'), 'a reload keeps what is typed').toHaveValue('{}')
  await page.locator('.request').first().click()
  await expect(page.locator('#listPets .answer'), 'the log has each response').toContainText('sent at')
})
test('every operation', async ({ page, server }) => {
  await page.goto(await server.start())
  for (const [path, operations] of Object.entries(api.paths))
    for (const [method, { operationId: id, summary, responses }] of Object.entries(operations)) {
      const part = selector => page.locator(`#${id} ${selector}`)
      await expect(part('h3 a'), `${id}: its name`).toHaveText(summary)
      await expect(part('.endpoint'), `${id}: its method and path`).toHaveText(method.toUpperCase() + path)
      await expect(page.locator(`nav [href="#${id}"] span`), `${id}: in the navigation`).toHaveText(summary)
      const statuses = await part('.more .pill').allTextContents()
      expect(statuses.sort(), `${id}: its statuses`).toEqual(Object.keys(responses))
    }
  await expect(page.locator('h3 .pill'), 'its labels').toHaveText(['deprecated', 'beta', 'experimental'])
  await expect(page.locator('#listOrders .send'), 'listOrders: no try-out').toHaveCount(0)
})
test('every error code', async ({ page, server }) => {
  await page.setViewportSize(phone)
  await page.goto(`${await server.start()}/#errors`)
  const codes = api.components.schemas.Error.properties.code['x-codes']
  for (const [code, { description }] of Object.entries(codes))
    await expect(page.locator(`#${code} p`), `${code} is explained`).toHaveText(description.replaceAll('`', ''))
  await expect(page.locator('.row:not(:has(button)) > a'), 'those that cannot be tried').toHaveText(
    ['incomplete_body', 'method_not_allowed', 'wrong_host', 'internal_error', 'save_failed', 'file_changed'])
  for (const button of await page.locator('.row button').filter({ hasNotText: 'until' }).all()) {
    const code = (await button.getAttribute('aria-label')).split(': ')[1]
    const answer = page.locator(`#${code} + form .answer`)
    await button.click()
    await expect(answer, `${code} can be tried`).toContainText(`"code": "${code}"`)
    await expectSeen(answer, `what came of ${code} is in view`)
  }
})
test('a link to an error code', async ({ page, server }) => {
  await page.goto(`${await server.start()}/#rate_limited`)
  const form = page.locator('.codes form')
  await expectSeen(page.locator('#rate_limited[aria-current]'), 'its row is marked, and in view')
  await expect(form.locator('.heading'), 'its panel is open').toHaveText('rate_limited')
  await expect(page, 'the address stays').toHaveURL(/#rate_limited$/)
  await page.locator('#internal_error a').click()
  await expectSeen(page.locator('#internal_error[aria-current]'), 'one that cannot be tried is marked, too')
  await press(page, 'Send until 503: failed_on_purpose')
  await expect(form, 'a trial says what it lacks').toContainText('No 503 in 10 requests: start the server')
  await expectSeen(form.locator('.status-line'), 'the answer of the last row is in view, too')
})
test('a form', async ({ page, server }) => {
  await page.goto(await server.start())
  const create = page.locator('#createPet'), get = page.locator('#getPet'), wrong = '[aria-invalid=true]'
  await create.locator('textarea').fill('{"name": 1}')
  await send(create, '400 Bad Request')
  await expect(create.locator(wrong), 'a wrong body is marked').toHaveAttribute('name', 'body')
  await create.locator('textarea').fill('{"name": "<img src=x>\u202e", "categoryId": 2}')
  await send(create, '201 Created')
  await create.locator('.ends a').click()
  await expect(get.locator('.answer'), 'hostile text stays text').toContainText('"<img src=x>\\u202e"')
  await get.locator('input').fill('x')
  await send(get, '400 Bad Request')
  await expect(get.locator(wrong), 'a wrong parameter is marked').toHaveAttribute('name', 'petId')
  await get.locator('input').fill('')
  await send(get, 'Not sent')
  await expect(get.locator('label'), 'an empty one is not sent').toContainText('petId is required.')
})
test('what is stale or late', async ({ page, server }) => {
  await page.goto(await server.start())
  const panel = page.locator('#getPet'), field = panel.locator('input'), stale = panel.locator('.stale')
  await field.fill('2')
  await expect(stale, 'an example is marked').toContainText('for another request')
  await send(panel, '200 OK')
  await field.fill('3')
  await expect(stale, 'a response is marked').toContainText('for the previous request')
  const asked = new Promise(resolve => page.route('**/pets/3', resolve))
  await panel.locator('.send').click()
  await expect(stale, 'a wait is shown').toContainText(/Waiting \d/)
  await page.locator('nav [href="#replacePet"]').click()
  const heading = page.locator('#replacePet h3')
  await expectSeen(heading, 'the reader can go on')
  const place = await heading.boundingBox()
  await (await asked).continue()
  await expect(panel.locator('.answer'), 'the response comes').toContainText('"id": 3')
  expect(await heading.boundingBox(), 'a late response does not move the page').toEqual(place)
})
test('the code of a request', async ({ page, server, context, browserName }) => {
  test.skip(browserName !== 'chromium', 'only Chromium lets a test read what was copied')
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  await page.goto(await server.start())
  const panel = page.locator('#createPet .panel'), name = `D'Artagnan $HOME "!" \\ \`é\``
  await panel.locator('textarea').fill(JSON.stringify({ name, categoryId: 2 }, null, 2))
  const commands = { curl: 'sh a.sh', JavaScript: 'node a.mjs', Python: 'python3 a.py', Go: 'go run a.go' }
  for (const [language, command] of Object.entries(commands)) {
    await press(panel, language)
    await press(panel.locator('.tabs'), 'Copy the code')
    await panel.getByText('Copied').waitFor()
    const file = test.info().outputPath(command.split(' ').at(-1))
    writeFileSync(file, await page.evaluate(() => navigator.clipboard.readText()))
    const output = execSync(command,
      { cwd: test.info().outputDir, encoding: 'utf8', stdio: 'pipe', timeout: 60_000 })
    expect(output, `${language} prints the status`).toContain('201')
    expect(JSON.parse(output.match(/\{"id.*\}/)[0]).name, `${language} sends the body`).toBe(name)
  }
})
test('a run until 429', async ({ page, server, first, meter }) => {
  await page.goto(await server.start())
  await press(first, 'Send until 429')
  await expect(first.locator('.answer'), 'it counts').toContainText(/request\s[2-9]/)
  await expect(first.locator('.answer'), 'it ends with a 429').toContainText(/429 .*request\s61/)
  await expect(meter, 'the meter says how long to wait').toContainText(/Wait \d+\ss/)
  await expect(first, 'the page warns of a ban').toContainText('10 strikes per minute ban the key.')
  await expect(first.locator('.send'), 'to send is a choice').toHaveText('Send anyway')
  await page.locator('#key').selectOption('demo-pro')
  await expect(first.locator('.send'), 'another key need not wait').toHaveText('Send')
})
test('a ban', async ({ page, server, first, meter }) => {
  await page.clock.install()
  await page.goto(`${await server.start('-minute', '15s', ...ownKey)}/#key_banned`)
  await page.locator('.own').fill('only-mine')
  await press(page, 'Send until 403 (bans this key): key_banned')
  await expect(meter, 'strikes are counted').toContainText(/Strike [2-9] of 10/)
  await expect(page.locator('.codes form'), 'the tenth bans').toContainText('403 Forbidden')
  await expect(meter, 'the meter says how long').toContainText(/Banned for \d+\ss/)
  await expect(first.getByText('Send until'), 'no run is offered').toBeHidden()
  await page.clock.fastForward('01:15') // five minutes of the server's
  await expect(meter, 'it ends').toHaveText('Your key')
})
test('a window that ends during a run', async ({ page, server, first }) => {
  const slow = ['-delay', '8s', '-slow', '1/99'] // the first response comes when its window is over
  await page.goto(await server.start('-minute', '8s', ...slow, ...ownKey))
  await page.locator('.own').fill('only-mine')
  await press(first, 'Send until 429')
  await first.getByText('New minute: counting again.').waitFor()
  await expect(first, 'the run goes on').toContainText(/429 .*request\s21/)
})
test('a window that cannot be used up', async ({ page, server, first }) => {
  await page.goto(await server.start('-minute', '1s'))
  await page.locator('#key').selectOption('demo-enterprise')
  await press(first, 'Send until 429')
  await expect(first, 'a run ends').toContainText('No 429 came before two new minutes')
})
test('a lost response', async ({ page, server, meter }) => {
  await page.goto(await server.start('-drop', '1/2'))
  const panel = page.locator('#createPet')
  await send(panel, 'may have been carried out: list the records before you send it again. List pets')
  await expect(meter, 'the count is unsure').toContainText('known from the next response')
  await send(panel, '201 Created')
})
test('a request that fails', async ({ page, server, first }) => {
  await page.clock.install()
  await page.goto(await server.start('-fail', '1/1'))
  await page.clock.pauseAt(Date.now() + 2000)
  await send(first, '503 Service Unavailable')
  await expect(first, 'the page says how long to wait').toContainText('Wait 1 s, then send again.')
  await page.clock.fastForward(1500)
  await expect(first, 'the page says when the wait is over').toContainText('You can send again.')
})
test('a server that stops and starts again', async ({ page, server, first, meter }) => {
  await page.goto(await server.start())
  await send(first, '200 OK')
  await server.stop()
  await send(first, 'The server could not be reached')
  await expect(meter, 'it is missed').toContainText('No server')
  await server.start('-addr', new URL(page.url()).host)
  await expect(first, 'it is found').toContainText('You can send again.')
  await expect(meter, 'its limits begin anew').toContainText('60 per minute')
})
test('a key of one’s own', async ({ page, server, first }) => {
  await page.goto(await server.start(...ownKey))
  const field = page.locator('.own')
  await field.fill('wrong')
  await send(first, '401 Unauthorized')
  await expect(field, 'a wrong one is marked').toHaveAttribute('aria-invalid', 'true')
  await press(first, 'Paste your key')
  await expect(field, 'the 401 leads to its field').toBeFocused()
  await field.fill('only-mine')
  await send(first, '200 OK')
  await expect(field, 'it is hidden in its field').toHaveAttribute('type', 'password')
  expect(await page.content(), 'it is shown nowhere else').not.toContain('only-mine')
})
test('the keyboard', async ({ page, server }) => {
  await page.goto(await server.start())
  const status = page.locator('[role=status]'), entry = id => page.locator(`nav [href="#${id}"]`)
  await entry('listInventory').press('Enter')
  await expect(entry('listInventory'), 'its entry is marked').toHaveAttribute('aria-current', 'true')
  await page.keyboard.press('Control+Enter')
  await expect(status, 'a GET on screen is sent').toContainText('200 OK')
  await entry('deletePet').press('Enter')
  await expect(page, 'the title names the section').toHaveTitle('Delete a pet | Petstore API')
  await page.keyboard.press('Control+Enter')
  await expect(status, 'a DELETE on screen is not sent').toContainText('Not sent: Try it: Delete a pet')
  await expect(page.locator('#deletePet .send'), 'but has the focus').toBeFocused()
  await page.locator('#deletePet input').press('Control+Enter')
  await expect(page.locator('#deletePet .answer'), 'its form sends it').toContainText('204 No Content')
})
test('a phone', async ({ page, server, first }) => {
  await page.setViewportSize(phone)
  await page.goto(`${await server.start()}/#listPets`)
  await send(page.locator('#listPets'), '200 OK')
  await expectSeen(page.locator('#listPets .answer .line').first(), 'a response comes into view')
  await press(page, 'Send until 429')
  await expectSeen(first.locator('.answer'), 'a run comes into view')
  await press(page, 'Menu')
  await page.locator('nav [href="#errors"]').click()
  await expect(page.locator('nav'), 'the menu closes when it leads on').toBeHidden()
})
for (const [width, height] of [[844, 390], [640, 360], [853, 480]]) // a phone on its side, zooms of 200 and 150 %
  test(`a short screen, ${width}x${height}`, async ({ page, server }) => {
    await page.setViewportSize({ width, height })
    await page.goto(`${await server.start()}/#createPet`)
    const panel = page.locator('#createPet .panel')
    await send(panel, '201 Created')
    for (const part of ['.address', '.status-line', '.answer .line >> nth=2'])
      await expectSeen(panel.locator(part), `Send brings ${part} into view`)
    await page.locator('#createPet summary', { hasText: '413' }).click()
    await page.locator('#createPet summary', { hasText: 'Body too large' }).click()
    await press(page.locator('#createPet'), 'Try 413: Body too large')
    await expect(panel.locator('.answer')).toContainText('413 ')
    for (const part of ['.address', '.status-line'])
      await expectSeen(panel.locator(part), `Try brings ${part} into view`)
    await expect(page, 'the address stays').toHaveURL(/#createPet$/)
  })
test('every size', async ({ page, server, first }) => {
  await page.goto(await server.start())
  await send(first, '200 OK')
  await page.locator('#key').selectOption('Own key') // whose field makes the widest header
  await page.locator('details').evaluateAll(all => all.forEach(part => { part.open = true }))
  const boxes = page.locator('main :is(div, p, td, li, button, h3, summary, pre), nav a, header, header p')
  for (const width of [320, 360, 390, 768, 911, 1093, 1280, 1366, 1920]) { // phones to screens, some zoomed
    await page.setViewportSize({ width, height: 720 })
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
    expect(overflow, `at ${width} nothing scrolls sideways`).toBeLessThanOrEqual(0)
    // One pixel more is rounding, and only screen readers read what is one pixel wide.
    const cut = await boxes.evaluateAll(all => all.filter(({ scrollWidth, clientWidth }) =>
      scrollWidth > clientWidth + 1 && clientWidth > 1).map(part => part.outerHTML))
    expect(cut, `at ${width} nothing is cut`).toEqual([])
  }
})
for (const colorScheme of ['light', 'dark']) test(`axe in ${colorScheme}`, async ({ page, server, first }) => {
  test.skip(test.info().project.name !== 'chromium', 'it finds the same in Firefox')
  await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
  await page.goto(await server.start())
  await send(first, '200 OK')
  await page.evaluate(readFileSync(join(import.meta.dirname, 'node_modules/axe-core/axe.min.js'), 'utf8'))
  const { violations } = await page.evaluate(() => globalThis.axe.run())
  expect(violations.map(({ id, nodes }) => [id, nodes[0].html]), 'axe finds nothing').toEqual([])
})
