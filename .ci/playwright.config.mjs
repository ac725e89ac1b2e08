// How page.mjs is run. .ci/run names the browsers; moz-firefox is Firefox as Mozilla ships it, and the times
// are long, for busy machines.
const { CHROMIUM = '/usr/bin/chromium', FIREFOX = '/usr/bin/firefox' } = process.env
const browser = (browserName, executablePath, channel) =>
  ({ name: browserName, use: { browserName, channel, launchOptions: { executablePath } } })
export default {
  testMatch: ['page.mjs', 'webpage.mjs'],
  forbidOnly: true,
  outputDir: 'node_modules/.page',
  reporter: 'list',
  workers: 4,
  fullyParallel: true,
  timeout: 120_000,
  expect: { timeout: 30_000 },
  projects: [browser('chromium', CHROMIUM), browser('firefox', FIREFOX, 'moz-firefox')],
}
