// Addresses of this machine and network, in every spelling that a URL accepts, and names that resolve to them.

import assert from 'node:assert/strict'
import { type ServerResponse, createServer } from 'node:http'
import { describe, test } from 'node:test'
import { LoginError } from '../../src/login/login-error.js'
import { loginHttp, reachOf } from '../../src/login/login-http.js'
import { addressKind } from '../../src/text/address-kind.js'
import { listening } from '../support/listening.js'
import { openRuntime } from '../support/open-runtime.js'

const words = (text: string): string[] => text.trim().split(/\s+/)

/** Hosts as a URL may have them. */
const hosts = {
  loopback: words(`
    127.0.0.1 127.1 127.0.1 127.255.255.254 2130706433 0x7f000001 0x7f.1 0177.0.0.1 017700000001 127.000.000.001 ①②⑦.⓪.⓪.①
    0.0.0.0 0 0.1.2.3 [::1] [0:0:0:0:0:0:0:1] [::] [::ffff:127.0.0.1] [::ffff:7f00:1] [::127.0.0.1] [64:ff9b::127.0.0.1]
    [2002:7f00:1::]`),
  'link-local': words(`
    169.254.169.254 169.254.1 2852039166 0xa9fea9fe 0251.0376.0251.0376 [fe80::1] [febf::1] [fd00:ec2::254] 168.63.129.16
    [::ffff:169.254.169.254] [64:ff9b::a9fe:a9fe] [2002:a9fe:a9fe::1]`),
  private: words(`
    10.0.0.1 10.1 167772161 0xa000001 012.0.0.1 10.255.255.255 172.16.0.1 172.31.255.255 192.168.0.1 192.168.1 0xc0a80001
    100.64.0.1 100.127.255.255 192.0.0.1 192.0.2.1 198.51.100.7 203.0.113.7 198.18.0.1 198.19.255.255 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255
    [fc00::1] [fdff::1] [fec0::1] [ff02::1] [2001::1] [2001:db8::1] [3fff::1] [4000::1] [2001:0:4136:e378::] [64:ff9b:1::1] [::ffff:10.0.0.1] [::ffff:c0a8:1]
    [2002:c0a8:1::] [64:ff9b::10.0.0.1] [::10.0.0.1]`),
  public: words(`
    1.1.1.1 9.255.255.255 11.0.0.1 100.63.255.255 100.128.0.1 172.15.255.255 172.32.0.1 192.167.255.255 192.169.0.1 198.17.0.1
    198.20.0.1 223.255.255.255 [2606:4700::1111] [2001:4860:4860::8888] [64:ff9b::1.1.1.1] [2002:101:101::] [::ffff:1.1.1.1]`),
} as const

for (const [kind, all] of Object.entries(hosts))
  test(`an address is ${kind} however it is written, ${all.length} times`, () => {
    for (const host of all) assert.equal(addressKind(new URL(`https://${host}/`).hostname), kind, host)
  })

test('an address is private where it is none, or has a zone', () => {
  for (const text of ['', 'localhost', '1.2.3', 'fe80::1%eth0'])
    assert.notEqual(addressKind(text), 'public', text)
})

describe('the servers of a login', () => {
  /** The address of the server that wants the login, those that the others may have, and those that they may not. */
  const reaches: readonly [string, readonly string[], readonly string[]][] = [
    ['1.1.1.1', ['1.0.0.1', 'auth.example'], ['127.0.0.1', '10.0.0.1', '169.254.169.254', '[::1]']],
    ['10.0.0.1', ['1.0.0.1', '192.168.0.1', '[fd12::1]'], ['127.0.0.1', '169.254.169.254']],
    ['127.0.0.1', ['1.0.0.1', '127.0.0.2', '10.0.0.1', '[::1]'], ['169.254.169.254']],
    ['localhost', ['127.0.0.1', '[::1]'], ['169.254.169.254', '[fe80::1]']],
  ]
  for (const [server, allowed, refused] of reaches)
    test(`have addresses of the kind of ${server}`, async () => {
      const reach = await reachOf(new URL(`https://${server}/mcp`))
      const check = (host: string) => (): void => reach.check(new URL(`https://${host}/`))
      for (const host of allowed) assert.doesNotThrow(check(host), host)
      for (const host of refused) assert.throws(check(host), LoginError, host)
    })

  for (const all of [true, false])
    test(`are resolved to what is allowed: ${all ? 'all addresses' : 'one'}`, async () => {
      const resolved = async (server: string): Promise<unknown> => {
        const { lookup } = await reachOf(new URL(`https://${server}/`))
        return new Promise((resolve) =>
          lookup('localhost', { all }, (error, address) => resolve(error?.message ?? address)),
        )
      }
      assert.match(String(await resolved('1.1.1.1')), /one of this network or machine/)
      assert.notEqual(typeof (await resolved('127.0.0.1')), all ? 'string' : 'object')
      assert.doesNotMatch(String(await resolved('127.0.0.1')), /machine/)
    })

  test('are not connected to at an address that is not allowed', async (t) => {
    const runtime = openRuntime(t)
    const http = loginHttp({ ...runtime, env: {} }, new URL('https://1.1.1.1/mcp'))
    for (const host of ['10.0.0.1', '169.254.169.254', '[fd12::1]', '127.0.0.1', 'localhost'])
      await assert.rejects(http(new URL(`https://${host}/`)), /is not asked: /)
    for (const url of ['http://auth.example/', 'ftp://1.1.1.1/', 'file:///etc/passwd'])
      await assert.rejects(http(new URL(url)), /a login needs https/)
  })
})

const cases: readonly [string, (response: ServerResponse) => void, RegExp][] = [
  ['follows no redirect', (response) => response.writeHead(302, { location: '/other' }).end(), /^302$/],
  ['reads no more than 256 KiB', (response) => response.end('x'.repeat(256 * 1024 + 1)), /is too large/],
  ['waits 10 s', () => {}, /did not answer within 10 s/],
]
for (const [title, answer, wanted] of cases)
  test(`a request of a login: ${title}`, async (t) => {
    const asked: string[] = []
    const server = createServer((request, response) => {
      asked.push(request.url ?? '')
      answer(response)
      expire?.()
    })
    const runtime = openRuntime(t)
    const url = new URL(`http://127.0.0.1:${await listening(t, server)}/`)
    // Only the longest timer is early: when the request has come.
    let expire: (() => void) | undefined
    const early = (delayMs: number, fire: () => void): ReturnType<typeof runtime.setTimer> => {
      if (delayMs === 10_000 && title === 'waits 10 s') expire = fire
      return runtime.setTimer(delayMs, fire)
    }
    const http = loginHttp({ ...runtime, env: {}, setTimer: early }, url)
    assert.match(await http(url).then(({ status }) => String(status), String), wanted)
    assert.deepEqual(asked, ['/'])
  })
