// Callbacks that others make, and addresses that are none: what reaches the browser, and what a login accepts.

import assert from 'node:assert/strict'
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { once } from 'node:events'
import { request } from 'node:http'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { openBrowser } from '../../src/login/browser.js'
import { CallbackServer } from '../../src/login/callback-server.js'
import { LoginError } from '../../src/login/login-error.js'
import { freePort } from '../integration/support/free-port.js'
import { scratch } from '../integration/support/spawned.js'
import { until } from '../integration/support/waiting.js'

/** The status of the answer, and where it leads. */
async function answer(
  port: number,
  path: string,
  { method = 'GET', host = `127.0.0.1:${port}` }: { method?: string; host?: string } = {},
): Promise<string> {
  const asked = request({ port, host: '127.0.0.1', path, method, headers: { host } }).end()
  const [response] = await once(asked, 'response')
  response.resume()
  return [response.statusCode, response.headers.location].filter(Boolean).join(' ')
}

describe('the page of a login', () => {
  test('answers the browser of this login alone, and once', async (t) => {
    const port = await freePort()
    const server = new CallbackServer(port, '127.0.0.1', '/login/random')
    t.after(() => server.close())
    await server.listen(port)
    const early = await answer(port, '/login/random')
    server.expect('right', 'https://auth.example/authorize?state=right')
    const asked: readonly [string, string, { method?: string; host?: string }?][] = [
      // A name of another that resolves to this machine.
      ['/login/random', '404', { host: 'evil.example' }],
      ['/login/random', '404', { host: `localhost:${port}` }],
      ['/callback?state=right&code=c', '404', { host: `evil.example:${port}` }],
      ['/callback?state=right&code=c', '404', { method: 'POST' }],
      // Another browser, which was sent here with the code of another person.
      ['/callback?state=wrong&code=c', '404'],
      ['/callback?state=&code=c', '404'],
      ['/callback?code=c', '404'],
      ['/login/other', '404'],
      // No address, which any page may ask for.
      ['//', '404'],
      ['http://[', '404'],
      ['/login/random/../random2', '404'],
      ['/login/random', '302 https://auth.example/authorize?state=right'],
      ['/callback?state=right&code=c', '200'],
      ['/callback?state=right&code=d', '404'],
    ]
    assert.equal(early, '404')
    for (const [path, wanted, more] of asked) assert.equal(await answer(port, path, more), wanted, path)
    assert.equal((await server.parameters).get('code'), 'c')
    await assert.rejects(new CallbackServer(port, '127.0.0.1', '/').listen(port), LoginError)
  })
})

describe('a browser', () => {
  const addresses: readonly [string, boolean][] = [
    ['javascript:alert(1)', false],
    ['-a', false],
    ['$(touch pwned)', false],
    ['file:///etc/passwd', false],
    ['', false],
    ['https://auth.example/$(touch pwned)`touch pwned`;touch pwned&x=%22|y', true],
  ]
  for (const [address, isOpened] of addresses)
    test(`gets ${address} ${isOpened ? 'as one word' : 'never'}`, async (t) => {
      const folder = scratch(t)
      const [browser, seen] = [join(folder, 'browser.mjs'), join(folder, 'seen')]
      const record = `import { renameSync, writeFileSync } from 'node:fs'
        writeFileSync('${seen}.tmp', JSON.stringify(process.argv.slice(2)))
        renameSync('${seen}.tmp', '${seen}')`
      writeFileSync(browser, `#!${process.execPath}\n${record}\n`)
      chmodSync(browser, 0o755)
      assert.equal(await openBrowser(address, { BROWSER: browser, PATH: process.env['PATH'] }), isOpened)
      if (!isOpened) return assert(!existsSync(seen))
      await until(() => existsSync(seen))
      assert.deepEqual(JSON.parse(readFileSync(seen, 'utf8')), [address])
      assert(!existsSync(join(folder, 'pwned')) && !existsSync('pwned'))
    })

  test('that is not there is none', async () => {
    assert.equal(await openBrowser('https://auth.example/', { BROWSER: '/nowhere/browser' }), false)
  })
})
