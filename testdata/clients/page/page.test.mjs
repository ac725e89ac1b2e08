import test from 'node:test'
import { chromium } from 'playwright-core'
import { createServer } from 'vite'
import petstore from './petstore.mjs'

const { CHROMIUM = '/usr/bin/chromium' } = process.env

test('a failed edit is shown, then undone', { timeout: 20_000 }, async t => {
  const faults = ['-only', 'PUT', '-fail', '1/1', '-delay', '1s']
  const { url } = await petstore(t, '-sample', 'zoo.json', ...faults)
  const vite = await createServer({ server: { port: 0 } })
  const browser = await chromium.launch({ executablePath: CHROMIUM })
  t.after(() => Promise.all([vite.close(), browser.close()]))
  await vite.listen()
  const page = await browser.newPage()
  await page.addInitScript(url => (window.petstore = url), url)
  await page.goto(vite.resolvedUrls.local[0])
  await page.getByRole('button', { name: 'Sell' }).click()
  await page.getByText('Zuri: sold').waitFor()
  await page.getByText('Zuri: available').waitFor()
})
