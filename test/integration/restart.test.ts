// Servers that are stopped, started anew, and taken over from elsewhere.

import { strict as assert } from 'node:assert'
import { spawn } from 'node:child_process'
import { describe, test } from 'node:test'
import { type ServerEvent, UpstreamError } from '../../src/index.js'
import { type RawClient, failure, said } from './support/client.js'
import { textAt } from './support/json.js'
import { libraryProxy } from './support/library.js'
import { itServer, program } from './support/programs.js'
import { gone, until } from './support/waiting.js'

const servers = { a: itServer({ IT_NAME: 'a' }), b: itServer({ IT_NAME: 'b' }) }

/** Of which servers the client is shown tools. */
async function shown(client: RawClient): Promise<string[]> {
  return [...new Set((await client.toolNames()).map((name) => name.split('__')[0] ?? ''))]
}

const isUnknown = (error: unknown): boolean =>
  error instanceof UpstreamError && error.message === "there is no server 'c'"

describe('restart', () => {
  test('gives both clients another process, and calls that run on the old one finish', async (t) => {
    const { proxy, attach } = await libraryProxy(t, servers)
    const [{ client: one }, { client: two }] = [await attach(), await attach()]
    for (const client of [one, two]) {
      await client.open()
      await client.request('tools/list')
    }
    const before = await one.pidOf('a__nonce')
    const other = await one.pidOf('b__nonce')
    const running = one.call('a__work', { n: 'x', steps: 1, ticks: 2000 })
    await proxy.restart('a')
    assert.equal(textAt(said(await running), 'n'), 'x')
    const after = await one.pidOf('a__nonce')
    assert.notEqual(after, before)
    assert.equal(await two.pidOf('a__nonce'), after)
    assert.equal(await two.pidOf('b__nonce'), other)
    await until(() => gone(before))
  })

  test('of what does not exist says what does', async (t) => {
    const { proxy } = await libraryProxy(t, servers)
    await assert.rejects(proxy.restart('c'), isUnknown)
    await assert.rejects(proxy.stop('c'), isUnknown)
  })
})

describe('stop', () => {
  test('takes a server out of the lists and refuses its calls until it is restarted', async (t) => {
    const { proxy, attach } = await libraryProxy(t, servers)
    const [{ client: one }, { client: two }] = [await attach(), await attach()]
    for (const client of [one, two]) {
      await client.open()
      assert.deepEqual(await shown(client), ['a', 'b'])
    }
    const pid = await one.pidOf('a__nonce')
    const changed = two.notification('notifications/tools/list_changed')
    await proxy.stop('a')
    assert.equal(gone(pid), true)
    await changed
    assert.deepEqual(await shown(two), ['b'])
    const refused = await one.call('a__nonce')
    assert.deepEqual(failure(refused), [-32603, 'a', 'unavailable'])
    assert.match(refused.text, /'a' was stopped; it can be restarted/)
    assert.deepEqual(
      proxy.status().map(({ name, state }) => [name, state]),
      [
        ['a', 'disconnected'],
        ['b', 'connected'],
      ],
    )
    await proxy.restart('a')
    assert.deepEqual(await shown(two), ['a', 'b'])
    assert.notEqual(await one.pidOf('a__nonce'), pid)
  })
})

describe('adopt', () => {
  test('takes a running process: its pid, its stderr, its exit, and it is stopped like others', async (t) => {
    const events: ServerEvent[] = []
    const on = { server: (event: ServerEvent) => events.push(event) }
    const { proxy, attach, log } = await libraryProxy(t, { a: itServer({}, { restartDelay: 10 }) }, { on })
    const child = spawn(process.execPath, [program('it-server.mjs')], { stdio: 'pipe' })
    t.after(() => child.kill('SIGKILL'))
    assert.equal(proxy.adopt('a', child), true)
    const { client } = await attach()
    await client.open()
    assert.equal(await client.pidOf('a__nonce'), child.pid)
    assert.deepEqual(proxy.status()[0]?.pids, [child.pid])
    child.stderr.emit('data', Buffer.from('a word of the child\n'))
    assert(log.some(({ service, message }) => service === 'a' && message === 'a word of the child'))
    assert.deepEqual(failure(await client.call('a__die', { code: 5 })), [-32603, 'a', 'exited'])
    assert(log.some(({ message }) => message === "'a' exited with code 5"))
    await until(() => events.filter(({ state }) => state === 'ready').length === 2)
    assert.notEqual(await client.pidOf('a__nonce'), child.pid)
  })

  test('refuses one without pipes, and says what would be right', async (t) => {
    const { proxy } = await libraryProxy(t, { a: itServer() })
    const child = spawn(process.execPath, ['-e', ''], { stdio: 'ignore' })
    assert.throws(() => proxy.adopt('a', child), /'a' cannot be adopted: start it with stdio/)
  })
})
