// Which cookies of a server go back to it, and where to.

import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { CookieJar } from '../../src/transports/http-client/cookie-jar.js'

const url = new URL('https://run.example.com/api/mcp')
const DATE = 'Sun, 22 Nov 2026 09:00:00 GMT'

const cases: readonly (readonly [title: string, headers: readonly string[], sent: string | undefined])[] = [
  ['one', ['a=1'], 'a=1'],
  ['the last of a name', ['a=1', 'b=2', 'a=3; Path=/; Secure; HttpOnly'], 'a=3; b=2'],
  ['an empty one', ['a='], 'a='],
  ['what is no cookie', ['a', 'a b=1', 'a=1,2', 'a=\u00e4'], undefined],
  ['one that ends by age', ['a=1', 'a=1; Max-Age=0'], undefined],
  ['one that ends by date', ['a=1', 'a=; expires=Thu, 01 Jan 1970 00:00:00 GMT'], undefined],
  ['one that ended a minute ago', ['a=1; Expires=Sun, 22 Nov 2026 08:59:00 GMT'], undefined],
  ['one that ends in a minute', ['a=1; Expires=Sun, 22 Nov 2026 09:01:00 GMT'], 'a=1'],
  ['an age above a date', ['a=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=60'], 'a=1'],
  ['a date that is none', ['a=1; Expires=never'], 'a=1'],
  [
    'for its own host and those above',
    ['a=1; Domain=run.example.com', 'b=2; Domain=.Example.com'],
    'a=1; b=2',
  ],
  ['for another host', ['a=1; Domain=example.org', 'b=2; Domain=n.example.com'], undefined],
  [
    'for its path and those above',
    ['a=1; Path=/api', 'b=2; Path=/api/mcp', 'c=3; Path=/api/'],
    'a=1; b=2; c=3',
  ],
  ['for another path', ['a=1; Path=/app', 'b=2; Path=/api/mc', 'c=3; Path=/api/mcp/x'], undefined],
  ['for a path that is none', ['a=1; Path=api', 'b=2; Path='], 'a=1; b=2'],
]

for (const [title, headers, sent] of cases)
  test(`cookies: ${title}`, () => {
    const jar = new CookieJar(20, 4096)
    jar.take(headers, { url, date: DATE })
    assert.equal(jar.header(url), sent)
  })

test('cookies: without a clock of the server what ended long ago is known', () => {
  const jar = new CookieJar(20, 4096)
  jar.take(['a=1', 'b=2', 'a=; Expires=Thu, 01 Jan 1970 00:00:00 GMT'], { url, date: undefined })
  assert.equal(jar.header(url), 'b=2')
  assert.deepEqual(jar.values, ['2'])
})

test('cookies: no more and no larger ones than allowed', () => {
  const jar = new CookieJar(2, 4)
  jar.take(['a=1', 'b=22', 'c=3', 'a=333'], { url, date: DATE })
  assert.equal(jar.header(url), 'a=1; b=22')
})

const together: readonly [string, string | undefined, readonly string[], string | undefined][] = [
  ['only what is configured', 'a=1; b=2', [], 'a=1; b=2'],
  ['what is configured, then what was set', 'a=1', ['b=2'], 'a=1; b=2'],
  ['a name that was set takes the place of a configured one', 'a=1; b=2', ['a=3'], 'b=2; a=3'],
  ['what was set for another path', 'a=1', ['a=3; Path=/other'], 'a=1'],
  ['what was taken back', 'a=1', ['a=3', 'a=; Max-Age=0'], 'a=1'],
  ['what is configured may be no pair', 'CANARY;', ['b=2'], 'CANARY; b=2'],
  ['nothing at all', undefined, [], undefined],
]

for (const [title, configured, set, sent] of together)
  test(`cookies of the configuration and of the server in one field: ${title}`, () => {
    const jar = new CookieJar(20, 4096)
    jar.take(set, { url, date: DATE })
    assert.equal(jar.header(url, configured), sent)
  })
