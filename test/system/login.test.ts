// A login in Chromium: the start page, the consent, and the page to which the browser comes back.

import assert from 'node:assert/strict'
import { type TestContext, after, before, describe, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { textAt } from '../integration/support/json.js'
import { cli } from '../integration/support/programs.js'
import { configFile, scratch, spawnProgram } from '../integration/support/spawned.js'
import { HANG_MS, until } from '../integration/support/waiting.js'
import { Deferred } from '../../src/runtime/deferred.js'
import { type AuthorizationOptions, AuthorizationServer } from '../login/authorization-server.js'
import { TestBrowser } from '../login/place.js'
import { noBrowser, openBrowser, watch } from './support/chromium.js'

const consent = (asked: URL): string =>
  `<!doctype html><title>Consent</title><a href="${asked.href.replaceAll('&', '&amp;')}&amp;consent=yes">Allow</a>`

const hostile = `"><script>alert(1)</script><img src=x onerror=alert(2)>\u001b[31m\u202e`
/** A page that tries the callback before the person has decided: without a state, with a guess, in a frame. */
const intruder = (asked: URL): string => {
  const back = asked.searchParams.get('redirect_uri') ?? ''
  return `${consent(asked)}<iframe src="${back}"></iframe><img src="${back}?code=evil"><script>
    fetch('${back}?state=guess&code=evil').then(r => r.text()).then(text => { document.title = 'read ' + text }, () => {
      document.title = 'refused' })</script>`
}

const done = 'mcps-proxy has the answer. You can close this window.'
const refused = 'The login was refused; the log of mcps-proxy has the reason. You can close this window.'

describe('a login in a browser', { skip: noBrowser }, () => {
  let browser: Browser

  before(async () => (browser = await openBrowser()))
  after(() => browser.close())

  /** The page is at the address that the proxy has opened. */
  async function place(t: TestContext, options: AuthorizationOptions) {
    const server = await AuthorizationServer.open(t, { page: consent, ...options })
    const home = scratch(t)
    const opener = new TestBrowser(home, '')
    const config = configFile(t, { guarded: { url: server.url } })
    const proxy = spawnProgram(t, process.execPath, [cli, 'stdio', '--verbose', '--config', config], {
      env: { ...process.env, HOME: home, BROWSER: opener.path },
    })
    await proxy.client.open()
    await until(() => opener.tabs.length > 0)
    const page = await browser.newPage()
    t.after(() => page.close())
    page.setDefaultTimeout(HANG_MS)
    const watched = watch(page)
    // Each that the browser has sent to the proxy.
    const referers: string[] = []
    page.on('request', (request) => {
      if (request.url().startsWith(server.origin)) return
      void request.allHeaders().then(
        ({ referer }) => referer !== undefined && referers.push(referer),
        () => undefined,
      )
    })
    await page.goto(opener.tabs[0] ?? '')
    /** Nothing ran that should not, and no secret of the login is where others read. */
    const isSafe = async (): Promise<void> => {
      const session = await page.context().newCDPSession(page)
      const { entries } = await session.send('Page.getNavigationHistory')
      const visited = entries.map(({ url }) => url).filter((url) => !url.startsWith(server.origin))
      const seen = visited.filter((url) => url.includes('?'))
      assert.deepEqual(seen, [], 'the history has no state and no code')
      const found = watched.troubles.filter((trouble) => !trouble.startsWith('Failed to load resource'))
      assert.deepEqual(found, [])
      const said = [...referers, proxy.stderr, ...server.mcpRequests].join('\n')
      assert(server.secrets.size > 0)
      for (const secret of server.secrets) assert(!said.includes(secret), secret)
    }
    return { proxy, page, watched, isSafe }
  }

  test('goes over the consent to the tools; its callback is good once', async (t) => {
    const exchange = new Deferred<void>()
    const at = await place(t, { onCode: () => exchange.promise })
    const { page, proxy, watched } = at
    assert.equal(await page.title(), 'Consent')
    await page.getByText('Allow').click()
    await page.getByText(done).waitFor()
    assert.match(page.url(), /^http:\/\/127\.0\.0\.1:\d+\/callback$/)
    const callback = watched.requests.find((url) => url.includes('/callback?'))
    assert(callback !== undefined)
    // A page would take longer on a busy machine than the exchange of the code may.
    const second = await fetch(callback)
    assert.match(await second.text(), /This login has ended, or was not started here\./)
    exchange.resolve()
    await until(() => proxy.stderr.includes('logged in at'))
    for (let text = ''; text !== 'hi';)
      text = textAt((await proxy.client.call('guarded__hello')).value, 'result', 'content', 0, 'text')
    await at.isSafe()
  })

  const cases: readonly [string, AuthorizationOptions, string, RegExp][] = [
    ['that was refused says so', { refusesLogin: true }, refused, /its login failed: access_denied/],
    [
      'that was refused in hostile words runs none of them',
      { callback: { error: 'access_denied', error_description: hostile, code: '' } },
      refused,
      /its login failed: access_denied/,
    ],
    [
      'with the answer of another server shows nothing of it',
      { iss: `https://evil.example/${hostile}`, callback: { error: hostile, error_description: hostile } },
      refused,
      /login failed: the answer is that of another authorization server/,
    ],
    ['at a page that attacks the callback is made', { page: intruder }, done, /logged in at 127\.0\.0\.1/],
  ]
  for (const [title, options, shown, logged] of cases)
    test(title, async (t) => {
      const at = await place(t, options)
      if (options.page !== undefined) await at.page.waitForFunction(`document.title === 'refused'`)
      at.watched.troubles.length = 0
      await at.page.getByText('Allow').click()
      await at.page.getByText(shown).waitFor()
      assert.equal(await at.page.locator('body').innerText(), shown)
      await until(() => logged.test(at.proxy.stderr))
      for (const odd of ['\u001b[31m', '\u202e']) assert(!at.proxy.stderr.includes(odd))
      await at.isSafe()
    })
})
