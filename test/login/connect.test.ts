// `connect` to a server that wants a login: the client waits for the person, and the login outlives the client.

import assert from 'node:assert/strict'
import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, describe, test } from 'node:test'
import { claim } from '../integration/support/claim.js'
import { at, textAt } from '../integration/support/json.js'
import { cli } from '../integration/support/programs.js'
import { Spawned, scratch } from '../integration/support/spawned.js'
import { until } from '../integration/support/waiting.js'
import { type AuthorizationOptions, AuthorizationServer } from './authorization-server.js'

interface Place {
  readonly server: AuthorizationServer
  /** Starts the proxy as a client does. */
  readonly start: () => Spawned
  /** Lets the person go on. */
  readonly goOn: () => void
  /** Lets the person wait in the pages that open from now on. */
  readonly hold: () => void
  /** How often the browser was opened. */
  readonly tabs: () => number
}

/** The person goes on at once, or when `goOn` is called; there may be no browser at all. */
async function place(
  t: TestContext,
  person: 'quick' | 'slow' | 'away',
  options: AuthorizationOptions = {},
): Promise<Place> {
  const server = await new AuthorizationServer(options).listen()
  t.after(() => server.close())
  const home = scratch(t)
  const [browser, seen, go] = ['browser.mjs', 'tabs', 'go'].map((name) => join(home, name))
  assert(browser !== undefined && seen !== undefined && go !== undefined)
  const script = [
    `#!${process.execPath}`,
    `import { appendFileSync, existsSync } from 'node:fs'`,
    `appendFileSync(${JSON.stringify(seen)}, 'x')`,
    `while (!existsSync(${JSON.stringify(go)})) await new Promise((resolve) => setTimeout(resolve, 20))`,
    'await fetch(process.argv[2])',
  ]
  writeFileSync(browser, script.join('\n'))
  chmodSync(browser, 0o755)
  const goOn = (): void => writeFileSync(go, '')
  const hold = (): void => rmSync(go, { force: true })
  if (person === 'quick') goOn()
  const own = person === 'away' ? { BROWSER: '', CI: 'true' } : { BROWSER: browser }
  const start = (): Spawned => {
    const env = { ...process.env, HOME: home, ...own }
    const spawned = new Spawned(process.execPath, [cli, 'connect', server.url, '--verbose'], { env })
    t.after(() => spawned.kill())
    return spawned
  }
  return { server, start, goOn, hold, tabs: () => (existsSync(seen) ? readFileSync(seen, 'utf8').length : 0) }
}

const nameOf = (opened: unknown): string => textAt(opened, 'serverInfo', 'name')
const isOpen = (names: string[]): boolean => names.includes('hello')

describe('connect to a server that wants a login', () => {
  test('holds initialize until the person has logged in, and the answer is that of the server', async (t) => {
    const { start, tabs } = await place(t, 'quick')
    const { client } = start()
    assert.equal(nameOf(await client.open()), 'guarded')
    assert.deepEqual(await client.toolNames(), ['hello'])
    assert.equal(tabs(), 1)
  })

  test('holds the first request of a client without a session', async (t) => {
    const { start, server } = await place(t, 'quick')
    const { client } = start()
    const { value } = await client.request('tools/list', { _meta: claim() })
    assert.equal(textAt(value, 'result', 'tools', 0, 'name'), 'hello')
    assert(server.mcpRequests.some((request) => request.includes('"initialize"')))
  })

  test('leaves the login behind when the client gives up, and the next start works', async (t) => {
    const { start, goOn, tabs } = await place(t, 'slow')
    const given = start()
    given.client.open().catch(() => undefined)
    await until(() => tabs() === 1)
    given.kill()
    await given.exited
    const { client } = start()
    const opened = client.open()
    goOn()
    assert.equal(nameOf(await opened), 'guarded')
    assert.equal(tabs(), 1)
  })

  test('is answered by the proxy when the client would give up, and the tools follow', async (t) => {
    const { start, goOn, tabs } = await place(t, 'slow')
    const { client } = start()
    const opened = await client.open()
    assert.equal(nameOf(opened), 'mcps-proxy')
    const changes = { listChanged: true }
    assert.deepEqual(at(opened, 'capabilities'), {
      logging: {},
      completions: {},
      tools: changes,
      prompts: changes,
      resources: { listChanged: true, subscribe: true },
    })
    assert.deepEqual(await client.toolNames(), ['login'])
    goOn()
    assert.deepEqual(await client.toolNamesOnce(isOpen), ['hello'])
    assert.equal(tabs(), 1)
  })
})
