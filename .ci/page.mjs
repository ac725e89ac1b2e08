// Uses the reference page as people do. Each test is a journey on a server of its own; its name and the words
// of what it expects say what broke. To run one: cd .ci && npx playwright test --grep keyboard
import { execFileSync, execSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, request } from 'node:http'
import { join } from 'node:path'
import { expect, test as base } from 'playwright/test'
const root = join(import.meta.dirname, '..'), ownKey = ['-keys', join(import.meta.dirname, 'own-key.json')]
const api = JSON.parse(readFileSync(join(root, 'docs/openapi.json')))
const part = selector => ({ page }, use) => use(page.locator(selector))
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
    const faults = []
    page.on('console', message => isBrowsersOwn(message.text()) || faults.push(message.text()))
    page.on('pageerror', error => faults.push(error.stack))
    page.on('request', asked => asked.url().startsWith('http://localhost:') || faults.push(asked.url()))
    await use(page)
    expect(faults, 'no error in the console, and no request to elsewhere').toEqual([])
  },
  // opened is the page of a new server.
  opened: async ({ page, server }, use) => {
    await page.goto(await server.start())
    await use(page)
  },
  // The panel of a first request, two sections of the reference, and what is known of the limit of the key.
  first: part('#first'), list: part('#listPets'), create: part('#createPet'),
  meter: part('.meter'), key: part('#key'),
})
const expectText = (part, text, fact) => expect(part, fact).toContainText(text)
const press = (place, name) => place.getByRole('button', { name, exact: true }).click()
// send sends what a panel holds, or presses what sends it, and waits for its answer.
async function send(panel, outcome, button) {
  await (button ? press(panel, button) : panel.locator('.send').click())
  await expectText(panel.locator('.answer:not(.stale)'), outcome, `the answer: ${outcome}`)
}
async function sendUntil(panel, status) {
  await panel.locator('.more-ways').click()
  await panel.locator('.ways button', { hasText: status }).click()
}
async function expectCopied(page, place, what) {
  await press(place, what)
  await place.getByText('Copied').waitFor()
  return page.evaluate(() => navigator.clipboard.readText())
}
// expectSeen waits until nothing, such as a header, covers the upper left corner of a part.
const expectSeen = (part, fact) => expect.poll(() => part.evaluate(part => {
  const { left, top } = part.getBoundingClientRect(), inside = 9 // pixels, to be past a round corner
  return part.contains(document.elementFromPoint(left + inside, top + inside))
}), fact).toBe(true)

test('a first request', async ({ opened: page, first, meter, create }) => {
  for (const part of ['curl -i', '"Misty"'])
    await expectSeen(first.getByText(part).last(), `${part} is on the first screen`)
  await send(first, '200 OK')
  await expectSeen(first.getByText('"Misty"'), 'the response is on the first screen')
  await expect(first.locator('.answer'), 'it does not look like the example').toHaveClass('answer good')
  await press(page, 'Light or dark')
  await create.locator('textarea').fill('{}')
  await page.reload()
  await expectText(meter, '59 of 60 left', 'a reload keeps the limit')
  await expect(page.locator('html'), 'a reload keeps the scheme').toHaveCSS('color-scheme', 'dark')
  await expect(create.locator('textarea'), 'a reload keeps what is typed').toHaveValue('{}')
})
test('every operation', async ({ opened: page }) => {
  for (const [path, operations] of Object.entries(api.paths))
    for (const [method, { operationId: id, summary, responses }] of Object.entries(operations)) {
      const texts = selector => page.locator(`#${id} :is(${selector}), nav [href="#${id}"] span`).allTextContents()
      expect(await texts('h3 a, .endpoint'), `${id}: its name, method and path, and its entry`)
        .toEqual([summary, summary, method.toUpperCase() + path])
      expect((await texts('.more .pill')).slice(1).sort(), `${id}: its statuses`).toEqual(Object.keys(responses))
    }
  await expect(page.locator('h3 .pill'), 'its labels').toHaveText(['deprecated', 'beta', 'experimental'])
  await expect(page.locator('#listOrders .send'), 'listOrders: no try-out').toHaveCount(0)
})
test('every error code', async ({ page, server }) => {
  await page.setViewportSize({ width: 360, height: 740 })
  await page.goto(`${await server.start()}/#errors`)
  for (const [code, { description }] of Object.entries(api.components.schemas.Error.properties.code['x-codes']))
    await expect(page.locator(`#${code} p`), `${code} is explained`).toHaveText(description.replaceAll('`', ''))
  await expect(page.locator('.row:not(:has(button)) > a'), 'those that cannot be tried').toHaveText(
    ['incomplete_body', 'method_not_allowed', 'wrong_host', 'internal_error', 'save_failed', 'file_changed'])
  for (const button of await page.locator('.row button').filter({ hasNotText: 'until' }).all()) {
    const code = (await button.getAttribute('aria-label')).split(': ')[1]
    await button.click()
    await expectText(page.locator(`#${code} + form .answer`), `"code": "${code}"`, `${code} can be tried`)
    await expectSeen(page.locator(`#${code} + form .answer`), `what came of ${code} is in view`)
  }
})
test('a link to an error code', async ({ page, server }) => {
  await page.goto(`${await server.start()}/#rate_limited`)
  const form = page.locator('.codes form')
  await expectSeen(page.locator('#rate_limited[aria-current]'), 'its row is marked, and in view')
  await expect(form.locator('.heading'), 'its panel is open').toHaveText('rate_limited')
  await page.locator('#internal_error a').click()
  await expectSeen(page.locator('#internal_error[aria-current]'), 'one that cannot be tried is marked, too')
  await press(page, 'Send until 503: failed_on_purpose')
  await expectText(form, 'No 503 in 10 requests: start the server', 'a trial says what it lacks')
  await expectSeen(form.locator('.status-line'), 'the answer of the last row is in view, too')
})
test('a form', async ({ opened: page, create }) => {
  const get = page.locator('#getPet')
  await create.locator('textarea').fill('{"name": "<img src=x>\u202e", "categoryId": 2}')
  await send(create, '201 Created')
  await expectText(create.locator('.answer'), '"<img src=x>\\u202e"', 'hostile text stays text')
  for (const [panel, control] of [[create, 'textarea'], [get, 'input']]) {
    await panel.locator(control).fill('x')
    await send(panel, '400 Bad Request')
    await expect(panel.locator(control), 'a wrong field is marked').toHaveAttribute('aria-invalid', 'true')
  }
  await get.locator('input').fill('')
  await send(get, 'Not sent')
  await expectText(get.locator('label'), 'petId is required.', 'an empty one is not sent')
})
test('the statuses of an operation', async ({ opened: page, create }) => {
  const answer = create.locator('.answer')
  await expect(answer.locator('.tab'), 'they stand in a line').toHaveText(['201', '400', '413', '415', '503'])
  await press(create, '400')
  await create.getByLabel('Example of 400').selectOption('Nonexistent category')
  await expectText(answer, 'unknown_reference', 'one of several is chosen')
  await create.locator('textarea').fill('{}')
  await expect(answer, 'an error is for no request').not.toContainText('for another request')
  await send(create, '400 Bad Request', 'Try 400')
  await press(create, 'Example')
  await send(create, 'cannot be provoked here', '503')
})
test('what a trial adds', async ({ page, server, create, key }) => {
  await page.goto(`${await server.start()}/#unauthorized`)
  const added = page.locator('.added')
  await press(create, '415')
  await send(create, '415 Unsupported', 'Try 415')
  await expectText(create.locator('.added'), 'Content-Type: text/plain', 'a header is a row')
  await press(create, 'Remove Content-Type: text/plain')
  await expect(create.locator('.send'), 'the cross goes on').toBeFocused()
  await send(create, '201 Created')
  await press(page, 'Try 401: unauthorized')
  await expectText(page.locator('.codes .answer'), '401 Unauthorized', 'a wrong key is sent')
  await expectText(added, 'Authorization: Bearer unknown', 'it is the only row')
  await key.selectOption('demo-pro')
  await expect(added, 'another key replaces it').toHaveCount(0)
})
test('what is stale or late', async ({ opened: page }) => {
  const panel = page.locator('#getPet'), stale = panel.locator('.stale'), heading = page.locator('#replacePet h3')
  await panel.locator('input').fill('2')
  await expectText(stale, 'for another request', 'an example is marked')
  await send(panel, '200 OK')
  await panel.locator('input').fill('3')
  await expectText(stale, 'for the previous request', 'a response is marked')
  const asked = new Promise(resolve => page.route('**/pets/3', resolve))
  await panel.locator('.send').click()
  await expectText(stale, /Waiting \d/, 'a wait is shown')
  await page.locator('nav [href="#replacePet"]').click()
  await expectSeen(heading, 'the reader can go on')
  const place = await heading.boundingBox()
  await (await asked).continue()
  await expectText(panel.locator('.answer'), '"id": 3', 'the response comes')
  expect(await heading.boundingBox(), 'a late response does not move the page').toEqual(place)
})
test('the code of a request', async ({ opened: page, context, browserName }) => {
  test.skip(browserName !== 'chromium', 'only Chromium lets a test read what was copied')
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  const panel = page.locator('#createPet .panel'), name = `D'Artagnan $HOME "!" \\ \`é\``
  await panel.locator('textarea').fill(JSON.stringify({ name, categoryId: 2 }, null, 2))
  const commands = { curl: 'sh a.sh', JavaScript: 'node a.mjs', Python: 'python3 a.py', Go: 'go run a.go' }
  for (const [language, command] of Object.entries(commands)) {
    await press(panel, language)
    const file = test.info().outputPath(command.split(' ').at(-1))
    writeFileSync(file, await expectCopied(page, panel.locator('.slab'), 'Copy the code'))
    const options = { cwd: test.info().outputDir, encoding: 'utf8', stdio: 'pipe', timeout: 60_000 }
    const output = execSync(command, options)
    expect(output, `${language} prints the status`).toContain('201')
    expect(JSON.parse(output.match(/\{"id.*\}/)[0]).name, `${language} sends the body`).toBe(name)
  }
})
test('exact numbers', async ({ page, server, context, browserName }) => {
  const file = test.info().outputPath('big.json'), id = '4611686018427387903'
  writeFileSync(file, `{"categories": [{"id": ${id}, "name": "Big"}]}`)
  await page.goto(await server.start('-sample', file))
  const get = page.locator('#getCategory'), remove = page.locator('#deleteCategory')
  for (const panel of [get, remove]) await panel.locator('input').fill(` ${id} `)
  const rest = get.locator('input').evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)
  expect(await rest, 'the field shows it whole').toBe(0)
  await send(get, `"id": ${id}`)
  if (browserName === 'chromium') await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  if (browserName === 'chromium')
    expect(await expectCopied(page, get, 'Copy the response'), 'Copy has it, too').toContain(`"id": ${id},`)
  await send(remove, 'The response has no body.')
  await expect(remove.locator('.answer > p:visible'), 'that is clear of its status').toHaveCSS('padding-top', '12px')
  await expect(remove.locator('.answer .copy'), 'without a body there is no Copy').toHaveCount(0)
})
test('the menu of Send', async ({ opened: page, list, create, meter, key }) => {
  const more = list.locator('.more-ways'), ways = list.locator('.ways button'), answer = list.locator('.answer')
  await expect(create.locator('.more-ways'), 'a POST has none, as it makes a pet each time').toHaveCount(0)
  await more.press('Enter')
  await expect(ways.first(), 'it has the focus').toBeFocused()
  await page.keyboard.press('ArrowDown')
  await expect(ways.last(), 'an arrow goes on').toBeFocused()
  await page.keyboard.press('ArrowDown')
  await expect(ways, 'it says what each does').toHaveText(['Until 429 request 61', 'Until 403 bans this key'])
  await page.keyboard.press('Enter')
  await expectText(answer, /request\s[2-9]/, 'a run counts')
  await expect(more, 'what goes on is not begun again').toBeHidden()
  await meter.click()
  await page.keyboard.press('Escape')
  await expect(list.locator('.send'), 'Escape closes what is open first').toHaveText('Stop')
  await page.keyboard.press('Escape')
  await expectText(answer, 'You stopped', 'and then stops the run')
  await sendUntil(list, 429)
  await expectText(answer, /429 .*request.*10 strikes per minute ban/, 'a run ends with a 429, and a warning')
  await expectText(meter, /^0 of 60 left.*resets in \d+\ss/, 'the meter says how long to wait')
  await expect(list.locator('.send'), 'to send is a choice').toHaveText('Send anyway')
  await key.selectOption('demo-pro')
  await expect(list.locator('.send'), 'another key need not wait').toHaveText('Send')
  await key.selectOption('Own key')
  await expect(more, 'without a key there is no run').toBeHidden()
})
test('a ban', async ({ page, server, first, meter }) => {
  await page.clock.install()
  await page.goto(`${await server.start('-minute', '30s', ...ownKey)}/#key_banned`)
  await page.locator('.own').fill('only-mine')
  await press(page, 'Send until 403 (bans this key): key_banned')
  await expect(meter.getByRole('img', { name: /^[2-9] of 10 strikes/ }), 'strikes are told to all').toBeVisible()
  await expectText(page.locator('.codes form'), /403 Forbidden.*request\s[23]\d/, 'the tenth bans')
  await expectText(meter, /Key banned.*for \d/, 'the meter says how long')
  await expect(first.locator('.more-ways'), 'no run is offered').toBeHidden()
  await page.clock.fastForward('02:30') // five minutes of the server's
  await expect(meter, 'it ends').toHaveText('Your key')
})
test('a window that ends during a run', async ({ page, server, first }) => {
  const slow = ['-delay', '8s', '-slow', '1/99'] // the first response comes when its window is over
  await page.goto(await server.start('-minute', '8s', ...slow, ...ownKey))
  await page.locator('.own').fill('only-mine')
  await sendUntil(first, 429)
  await first.getByText('New minute: counting again.').waitFor()
  await expectText(first, /429 .*request\s21/, 'the run goes on')
})
test('a window that cannot be used up', async ({ page, server, first, key }) => {
  await page.goto(await server.start('-minute', '1s'))
  await page.route('**/pets', route => setTimeout(() => route.continue(), 250))
  for (const [plan, advice] of [['pro', 'choose a smaller plan.'], ['free', 'start the server with a longer']]) {
    await key.selectOption(`demo-${plan}`)
    await sendUntil(first, 429)
    await expectText(first, `No 429 came before two new minutes: ${advice}`, 'a run ends')
  }
})
test('a lost response', async ({ page, server, meter, create }) => {
  await page.goto(await server.start('-drop', '1/2'))
  await send(create, 'may have been carried out: list the records before you send it again. List pets')
  await expectText(meter, 'known from the next response', 'the count is unsure')
  await send(create, '201 Created')
})
test('a request that fails', async ({ page, server, first }) => {
  await page.clock.install()
  await page.goto(await server.start('-fail', '1/1'))
  await page.clock.pauseAt(Date.now() + 2000)
  await send(first, 'Wait 1 s, then send again.')
  await page.clock.fastForward(1500)
  await expectText(first, 'You can send again.', 'the page says when the wait is over')
})
test('a server that stops and starts again', async ({ opened: page, server, first, meter }) => {
  await send(first, '200 OK')
  await server.stop()
  await send(first, 'The server could not be reached')
  await expectText(meter, 'No server', 'it is missed')
  await server.start('-addr', new URL(page.url()).host)
  await expectText(first, 'You can send again.', 'it is found')
  await expectText(meter, '60 per minute', 'its limits begin anew')
})
test('a key of one’s own', async ({ page, server, first }) => {
  await page.goto(await server.start(...ownKey))
  const field = page.locator('.own')
  await field.fill('wrong')
  await send(first, '401 Unauthorized')
  await expect(field, 'a wrong one is marked').toHaveAttribute('aria-invalid', 'true')
  await press(first, 'Paste your key')
  await field.fill('only-mine')
  await page.keyboard.press('Enter')
  await expect(first.locator('.send'), 'the 401 leads to its field, and Enter on').toBeFocused()
  await send(first, '200 OK')
  await expect(field, 'it is hidden in its field').toHaveAttribute('type', 'password')
  expect(await page.content(), 'it is shown nowhere else').not.toContain('only-mine')
})
test('the meter', async ({ page, server, meter, list, context }) => {
  await page.goto(await server.start(...ownKey))
  await page.locator('.own').fill('only-mine')
  for (let left = 19; left >= 3; left--) {
    if (left === 3) await expect(meter, 'it does not warn too early').toHaveAttribute('data-level', 'high')
    await list.locator('.send').click()
    await expectText(meter, `${left} of 20 left resets in`, 'it tells each request')
  }
  await expect(meter, 'at 15 % it warns').toHaveAttribute('data-level', 'low')
  const widths = meter.locator('.ticks').evaluate(ticks => [ticks, ticks.firstChild].map(part => part.offsetWidth))
  expect(await widths, 'a request is a tick of twelve pixels, with a gap of two').toEqual([20 * 12 - 2, 3 * 12])
  const other = await context.newPage()
  await other.goto(page.url())
  await other.locator('.own').fill('only-mine')
  await list.locator('.send').click()
  await expectText(other.locator('.meter'), '2 of 20 left', 'another tab hears of it')
  await send(other.locator('#first'), '200 OK')
  await expectText(meter, '1 of 20 left', 'of two readings the newer counts')
})
test('the recent requests', async ({ opened: page, meter, create }) => {
  const field = create.locator('textarea'), recent = page.locator('#recent')
  for (const id of [6, 7]) await send(create, `"id": ${id}`)
  await field.fill('{"name": "typed"')
  await page.reload()
  await page.locator('nav [href="#listOrders"]').click()
  await meter.click()
  await expect(page, 'they open on every section').toHaveURL(/#listOrders/)
  await expect(recent.locator('button'), 'each POST is one').toHaveCount(2)
  await recent.locator('button').last().click()
  await expectText(create.locator('.answer'), /for another request.*sent at.*"id": 6/, 'one shows its response')
  await expectSeen(create.locator('.status-line'), 'it comes into view')
  await expect(field, 'what is typed stays').toHaveValue('{"name": "typed"')
  await press(create, 'Fill in')
  await expect(field, 'but can be replaced').toHaveValue(/"name": "Pip"/)
  await meter.press('Enter')
  await recent.locator('button').first().press('Enter')
  await expect(page.locator('#createPet'), 'the keyboard goes on from there').toBeFocused()
})
test('under a prefix', async ({ page, server, first, create }) => {
  const { port } = new URL(await server.start()), outside = []
  const proxy = createServer((asked, answer) => asked.pipe(request({ port, method: asked.method,
    path: asked.url.replace('/petstore/', '/'), headers: asked.headers }, got =>
    got.pipe(answer.writeHead(got.statusCode, got.headers))))).listen(0, 'localhost').unref()
  await once(proxy, 'listening')
  const url = `http://localhost:${proxy.address().port}/petstore`
  page.on('request', asked => asked.url().startsWith(`${url}/`) || outside.push(asked.url()))
  await page.goto(`${url}/`)
  await expectText(page.locator('.base'), url, 'the base URL is the page’s')
  await send(create, '201 Created')
  await create.locator('.ends a').click()
  await expectText(page.locator('#getPet .answer'), '"name": "Pip"', 'Location leads on')
  await press(first, 'Try two pets per page')
  await send(first, '"id": 4', 'Next page')
  await expectText(first.locator('.code'), `${url}/pets?limit=2`, 'code is to be run')
  expect(outside, 'nothing is asked for outside').toEqual([])
})
test('the keyboard', async ({ opened: page }) => {
  const status = page.locator('[role=status]'), entry = id => page.locator(`nav [href="#${id}"]`)
  await entry('listInventory').press('Enter')
  await expect(entry('listInventory'), 'its entry is marked').toHaveAttribute('aria-current', 'true')
  await page.keyboard.press('Control+Enter')
  await expectText(status, '200 OK', 'a GET on screen is sent')
  await entry('deletePet').press('Enter')
  await expect(page, 'the title names the section').toHaveTitle('Delete a pet | Petstore API')
  await page.keyboard.press('Control+Enter')
  await expectText(status, 'Not sent: Try it: Delete a pet', 'a DELETE on screen is not sent')
  await page.keyboard.press('Control+Enter')
  await expectText(page.locator('#deletePet .answer'), '204 No Content', 'it has the focus, and is sent by the next')
})
test('the stage', async ({ page, server, meter, list, create, key }) => {
  await page.setViewportSize({ width: 1280, height: 720 })
  await page.goto(`${await server.start()}/#createPet`)
  const stage = page.locator('#stage .panel'), field = create.locator('textarea')
  await field.press('s')
  await field.blur()
  await page.keyboard.press('s')
  await expect(stage.locator('.head .method'), 'S shows the operation that is read').toHaveText('POST')
  await page.reload()
  await send(stage, '400 Bad Request') // as the letter in the field was a letter
  await stage.getByLabel('Operation').selectOption('List pets')
  await send(stage, '200 OK')
  const heights = stage.locator('.answer').evaluate(answer => answer.clientHeight - answer.firstChild.offsetHeight)
  expect(await heights, 'there is room for ten lines of a body').toBeGreaterThanOrEqual(300 + 2 * 12)
  await expect(stage.locator('.json'), 'it is readable from afar').toHaveCSS('font-size', '20px')
  await expect(meter.locator('strong'), 'so is the meter').toHaveCSS('font-size', '28px')
  await expectSeen(page.locator('#recent li').nth(1), 'recent requests are there')
  await expect(page.locator('nav'), 'nothing else is').toBeHidden()
  for (const [width, height] of [[959, 720], [1280, 540]]) {
    await page.setViewportSize({ width, height })
    await expectSeen(list.locator('h3'), `at ${width}x${height} the page has no stage`)
    await expect(page.locator('.stage-button'), 'nor a button for it').toBeHidden()
  }
  await page.keyboard.press('s') // does nothing
  await page.setViewportSize({ width: 960, height: 544 })
  await key.selectOption('demo-enterprise')
  await send(stage, '200 OK')
  const words = await meter.locator('.rest').boundingBox(), { x } = await key.boundingBox()
  expect(words.x + words.width, 'its header fits').toBeLessThan(x)
  await press(page, 'Leave stage')
  await expectSeen(list.locator('h3'), 'it is left where it was')
  for (const key of 'ss') await page.keyboard.press(key)
  await expect(list.locator('.panel'), 'by key, too').toBeVisible()
})
for (const [width, height] of [[360, 740], [844, 390], [640, 360], [853, 480]]) // phones, zooms of 200 and 150 %
  test(`a small screen, ${width}x${height}`, async ({ page, server, list, create }) => {
    await page.setViewportSize({ width, height })
    await page.goto(`${await server.start()}/#createPet`)
    await send(create, '201 Created')
    for (const part of ['.address', '.status-line', '.answer .line >> nth=2'])
      await expectSeen(create.locator(part), `Send brings ${part} into view`)
    for (const name of ['Example', '413']) await press(create, name)
    await send(create, '413 Request', 'Try 413')
    for (const part of ['.address', '.status-line'])
      await expectSeen(create.locator(part), `Try brings ${part} into view`)
    await expect(page, 'the address stays').toHaveURL(/#createPet$/)
    await sendUntil(list, 429)
    await expectSeen(list.locator('.answer'), 'a run comes into view')
  })
test('every size', async ({ opened: page, first, key }) => {
  await send(first, '200 OK')
  await key.selectOption('Own key') // whose field makes the widest header
  await page.locator('details').evaluateAll(all => all.forEach(part => { part.open = true }))
  const boxes = page.locator('main :is(div, p, td, li, button, h3, summary, pre), nav a, header, header p')
  for (const width of [320, 360, 390, 768, 911, 1024, 1093, 1280, 1440, 1920]) { // phones to screens, some zoomed
    await page.setViewportSize({ width, height: 720 })
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
    expect(overflow, `at ${width} nothing scrolls sideways`).toBeLessThanOrEqual(0)
    const cut = await boxes.evaluateAll(all => all.filter(({ scrollWidth, clientWidth }) =>
      scrollWidth > clientWidth + 1 && clientWidth > 1).map(part => part.outerHTML.slice(0, 99)))
    expect(cut, `at ${width} nothing is cut`).toEqual([]) // one pixel is rounding, or for screen readers
  }
})
test('the look', async ({ opened: page, list }) => {
  await page.setViewportSize({ width: 1440, height: 900 })
  await send(list, '200 OK')
  const sizes = part => part.evaluateAll(all => [...new Set(all.filter(part => part.checkVisibility())
    .map(part => parseFloat(getComputedStyle(part).fontSize)))].sort((a, b) => b - a))
  expect(await sizes(page.locator('body *')), 'there are six sizes of type').toEqual([28, 20, 16, 14, 13, 11])
  expect(await sizes(page.locator('code, pre, textarea')), 'code has one').toEqual([13])
  await expect(list.locator('.slab'), 'code is dark').toHaveCSS('background-color', 'rgb(20, 24, 31)')
  const heights = part => list.locator(part).evaluateAll(all => all.map(({ offsetHeight }) => offsetHeight))
  expect(new Set(await heights('.answer .line')), 'a pet is one line').toEqual(new Set([21]))
  await press(list, 'Go')
  expect(await heights('.code .line'), 'an empty line of code is a line').not.toContain(0)
})
for (const colorScheme of ['light', 'dark']) test(`axe in ${colorScheme}`, async ({ opened: page, first }) => {
  test.skip(test.info().project.name !== 'chromium', 'it finds the same in Firefox')
  await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
  await send(first, '200 OK')
  await page.evaluate(readFileSync(join(import.meta.dirname, 'node_modules/axe-core/axe.min.js'), 'utf8'))
  for (const enabled of [false, true]) { // on stage, contrasts are those of level AAA
    if (enabled) await press(page, 'Stage')
    if (enabled) await send(page.locator('#stage .panel'), '200 OK')
    const run = options => globalThis.axe.run(options), rules = { 'color-contrast-enhanced': { enabled } }
    const { violations } = await page.evaluate(run, { rules })
    expect(violations.map(({ id, nodes }) => [id, nodes[0].html]), 'axe finds nothing').toEqual([])
  }
})
