// The paths of the inspector: who gets what.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { Inspector } from '../../src/inspector/inspector.js'
import { type PagesListener, listenForPages } from '../../src/inspector/listener.js'
import { InspectorPages, readAssets } from '../../src/inspector/pages.js'
import { realRuntime } from '../../src/index.js'
import { invocation } from './support.js'
import { type Answer, open, send } from '../transports/support/http.js'

const key = 'k'.repeat(43)
const folder = mkdtempSync(join(tmpdir(), 'pages-'))
for (const name of ['index.html', 'app.js', 'app.css']) writeFileSync(join(folder, name), `of ${name}`)
const runtime = realRuntime()
const inspector = new Inspector({ runtime, redacts: true, invocation })
const pages = new InspectorPages(inspector, key, readAssets(folder))
const done: string[] = []
let listener: PagesListener | undefined
let port = 0

function act(what: string): (name: string) => Promise<void> {
  return async (name) => {
    if (name === 'gone') throw new Error("there is no server 'gone'")
    done.push(`${what} ${name}`)
  }
}

before(async () => {
  inspector.status.proxies = new Map([
    ['default', { status: () => [], sessions: () => [], restart: act('restart'), stop: act('stop') }],
  ])
  listener = await listenForPages(pages, 0, { runtime, log: () => {} })
  port = listener.port
})
after(async () => {
  inspector.close()
  await listener?.close()
  await runtime.close()
  rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
})

type Fields = Readonly<Record<string, string>>
const withKey: Fields = { authorization: `Bearer ${key}` }

function get(path: string, headers: Fields = {}, method = 'GET', body?: string): Promise<Answer> {
  return send(port, { path, method, headers, ...(body !== undefined && { body }) })
}

/** On every answer. */
const wanted: Fields = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
}

const cases: [path: string, status: number][] = [
  ['/ui/', 200],
  ['/ui/app.js', 200],
  ['/ui/app.css', 200],
  ['/ui', 308],
  ['/ui/feed', 401],
  ['/ui/frames/1', 401],
  ['/ui/status', 401],
  ['/ui/nothing', 401],
  ['/', 404],
  ['/mcp', 404],
]
for (const [path, status] of cases)
  test(`without the key, ${path} is ${status}`, async () => {
    const answer = await get(path)
    assert.equal(answer.status, status)
    if (!path.startsWith('/ui')) return
    for (const [name, value] of Object.entries(wanted)) assert.equal(answer.headers[name], value)
  })

test('without the key, a wrong one is none, and a server is not stopped', async () => {
  const wrong = { authorization: `Bearer ${key.slice(1)}x` }
  assert.equal((await get('/ui/status', wrong)).status, 401)
  const body = '{"schema":"default","server":"a","action":"stop"}'
  assert.equal((await get('/ui/servers', wrong, 'POST', body)).status, 401)
  assert.deepEqual(done, [])
})

const foreign: [title: string, fields: Fields][] = [
  ['another origin', { origin: 'https://a.example' }],
  ['another port of this machine', { origin: 'http://127.0.0.1:1' }],
  ['no origin of any kind', { origin: 'null' }],
  ['another site', { 'sec-fetch-site': 'cross-site' }],
  ['another port, as a browser says it', { 'sec-fetch-site': 'same-site' }],
  ['an address that was typed, by a script', { 'sec-fetch-site': 'none', 'sec-fetch-mode': 'cors' }],
  ['a name that leads here', { host: 'rebound.example' }],
]
for (const [title, fields] of foreign)
  test(`a request of another page is refused, with the key too: ${title}`, async () =>
    assert.equal((await get('/ui/status', { ...withKey, ...fields })).status, 403))

describe('with the key', () => {
  test('the page gets the state, a frame that is gone, and the reason', async () => {
    const own = { ...withKey, origin: `http://127.0.0.1:${port}`, 'sec-fetch-site': 'same-origin' }
    assert.equal((await get('/ui/status', own)).status, 200)
    const gone = await get('/ui/frames/99', own)
    const facts = [gone.status, gone.body]
    assert.deepEqual(facts, [404, '{"error":"This message is older than those that are kept"}'])
    assert.equal((await get('/ui/nothing', own)).status, 404)
    assert.equal((await get('/ui/status', own, 'DELETE')).status, 405)
  })

  const controls: [body: string, status: number, done: readonly string[]][] = [
    ['{"schema":"default","server":"a","action":"restart"}', 200, ['restart a']],
    ['{"schema":"default","server":"b","action":"stop"}', 200, ['stop b']],
    ['{"schema":"default","server":"a","action":"explode"}', 400, []],
    ['{"schema":"default","server":"gone","action":"stop"}', 409, []],
    ['{"schema":"other","server":"a","action":"stop"}', 404, []],
    ['null', 400, []],
    [`{"pad":"${'x'.repeat(5000)}"}`, 400, []],
  ]
  for (const [body, status, want] of controls)
    test(`a server is controlled: ${body.slice(0, 60)}`, async () => {
      done.length = 0
      assert.equal((await get('/ui/servers', withKey, 'POST', body)).status, status)
      assert.deepEqual(done, want)
    })

  test('the feed is a stream of lines, and a fifth one is refused', async () => {
    const feeds = await Promise.all(
      [1, 2, 3, 4].map(() => open(port, { path: '/ui/feed', method: 'GET', headers: withKey })),
    )
    const [first] = feeds
    assert.equal(first?.headers['content-type'], 'application/x-ndjson')
    assert.equal((await get('/ui/feed', withKey)).status, 503)
    for (const feed of feeds) feed.destroy()
  })
})
