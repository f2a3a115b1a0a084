// Callbacks that others make, and addresses that are none: what reaches the browser, and what a login accepts.

import assert from 'node:assert/strict'
import { existsSync, writeFileSync } from 'node:fs'
import { once } from 'node:events'
import { request } from 'node:http'
import { networkInterfaces } from 'node:os'
import { delimiter, join } from 'node:path'
import { describe, test } from 'node:test'
import { openBrowser, openers } from '../../src/login/browser.js'
import { CallbackServer } from '../../src/login/callback-server.js'
import { LoginError } from '../../src/login/login-error.js'
import { freePort } from '../integration/support/free-port.js'
import { scratch } from '../integration/support/spawned.js'
import { until } from '../integration/support/waiting.js'
import { TestBrowser } from './place.js'

interface Asked {
  readonly method?: string
  readonly host?: string
  readonly address?: string
  /** `own` sends back what the start page has set. */
  readonly cookie?: string
}

let lastCookie = ''

/** The status of the answer, and where it leads. */
async function answer(
  port: number,
  path: string,
  { method = 'GET', host = `127.0.0.1:${port}`, address = '127.0.0.1', cookie = '' }: Asked = {},
): Promise<string> {
  const sent = cookie === 'own' ? lastCookie : cookie
  const asked = request({ port, host: address, path, method, headers: { host, cookie: sent } }).end()
  const [response] = await once(asked, 'response')
  response.resume()
  const [set] = response.headers['set-cookie'] ?? []
  lastCookie = set?.split(';')[0] ?? lastCookie
  return [response.statusCode, response.headers.location].filter(Boolean).join(' ')
}

test('the page of a login answers the browser of this login alone, and once', async (t) => {
  const port = await freePort()
  const server = await CallbackServer.listen(port, '127.0.0.1')
  t.after(() => server.close())
  const start = new URL(server.startPage).pathname
  const early = await answer(port, start)
  server.expect('right', 'https://auth.example/authorize?state=right')
  const asked: readonly [string, string, Asked?][] = [
    // A name of another that resolves to this machine.
    [start, '404', { host: 'evil.example' }],
    [start, '404', { host: `localhost:${port}` }],
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
    [`${start}/../random2`, '404'],
    [start, '302 https://auth.example/authorize?state=right'],
    // Another browser, whose user has read the address in the list of processes; and the first one again.
    [start, '403'],
    [start, '403', { cookie: `mcps-login-${port}=x` }],
    [start, '302 https://auth.example/authorize?state=right', { cookie: 'own' }],
    ['/callback?state=right&code=c', '200'],
    ['/callback?state=right&code=d', '404'],
  ]
  assert.equal(early, '404')
  for (const [path, wanted, more] of asked) assert.equal(await answer(port, path, more), wanted, path)
  assert.equal((await server.parameters).get('code'), 'c')
  await assert.rejects(CallbackServer.listen(port, '127.0.0.1'), LoginError)
})

test('the page of a login listens on each address of this machine where its name is localhost', async (t) => {
  const port = await freePort()
  const server = await CallbackServer.listen(port, 'localhost')
  t.after(() => server.close())
  const hasIpv6 = Object.values(networkInterfaces()).some((all) =>
    all?.some(({ address }) => address === '::1'),
  )
  for (const address of ['127.0.0.1', ...(hasIpv6 ? ['::1'] : [])])
    assert.equal(await answer(port, '/callback', { host: `localhost:${port}`, address }), '404', address)
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
      const browser = new TestBrowser(folder, '')
      assert.equal(await openBrowser(address, { BROWSER: browser.path, PATH: process.env['PATH'] }), isOpened)
      if (isOpened) await until(() => browser.starts.length > 0)
      assert.deepEqual(browser.starts, isOpened ? [[address]] : [])
      assert(!existsSync(join(folder, 'pwned')) && !existsSync('pwned'))
    })

  const lists: readonly [string, (browser: string) => string, readonly string[]][] = [
    ['with arguments', (browser) => `${browser} --new-window`, ['--new-window']],
    ['with a place for the address', (browser) => `${browser} --new-window %s`, ['--new-window']],
    ['after one that is not there', (browser) => ['/nowhere/browser', browser].join(delimiter), []],
  ]
  for (const [title, value, args] of lists)
    test(`that $BROWSER names ${title} is opened`, async (t) => {
      const browser = new TestBrowser(scratch(t), '')
      assert.equal(await openBrowser('https://auth.example/', { BROWSER: value(browser.path) }), true)
      await until(() => browser.starts.length > 0)
      assert.deepEqual(browser.starts, [[...args, 'https://auth.example/']])
    })

  test('that nobody names is opened by a program of the system alone', (t) => {
    const folder = scratch(t)
    for (const name of ['xdg-open', 'gio', 'wslview'])
      writeFileSync(join(folder, name), '#!/bin/sh', { mode: 0o755 })
    for (const more of [{}, { WSL_DISTRO_NAME: 'x' }])
      for (const [program = ''] of openers({ DISPLAY: ':0', PATH: folder, ...more }))
        assert.match(program, /^(?:\/(?:usr|bin|mnt)\/|rundll32$)/)
  })

  test('that is not there is none', async () =>
    assert.equal(await openBrowser('https://auth.example/', { BROWSER: '/nowhere/browser' }), false))
})
