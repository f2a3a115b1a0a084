// `connect` to a server that wants a login: the client waits for the person, and the login outlives the client.

import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, describe, test } from 'node:test'
import { claim } from '../integration/support/claim.js'
import { at, textAt } from '../integration/support/json.js'
import { cli } from '../integration/support/programs.js'
import { Spawned, scratch } from '../integration/support/spawned.js'
import { until } from '../integration/support/waiting.js'
import { AuthorizationServer } from './authorization-server.js'
import { TestBrowser } from './place.js'

/** A quick person logs in without waiting, a slow one when `goOn` is called. */
async function place(t: TestContext, person: 'quick' | 'slow') {
  const server = await AuthorizationServer.open(t)
  const home = scratch(t)
  const go = join(home, 'go')
  const waits = `while (!existsSync('${go}')) await new Promise((resolve) => setTimeout(resolve, 20))`
  const browser = new TestBrowser(home, `${waits}\nawait fetch(process.argv[2])`)
  const goOn = (): void => writeFileSync(go, '')
  if (person === 'quick') goOn()
  /** Starts the proxy as a client does. */
  const start = (): Spawned => {
    const env = { ...process.env, HOME: home, BROWSER: browser.path }
    const spawned = new Spawned(process.execPath, [cli, 'connect', server.url, '--verbose'], { env })
    t.after(() => spawned.kill())
    return spawned
  }
  return { server, start, goOn, tabs: () => browser.tabs.length }
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
