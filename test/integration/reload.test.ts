// A configuration that changes while clients use the proxy.

import { strict as assert } from 'node:assert'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { ConfigError, type StdioServerJson, limits } from '../../src/index.js'
import { type RawClient, failure, said } from './support/client.js'
import { at, listAt, numberAt, textAt } from './support/json.js'
import { type Attached, libraryProxy } from './support/library.js'
import { asRead, itServer } from './support/programs.js'
import { scratch } from './support/spawned.js'
import { gone, until } from './support/waiting.js'

const changed = {
  tools: 'notifications/tools/list_changed',
  resources: 'notifications/resources/list_changed',
}

const told = ({ client }: Attached, method: string): number =>
  client.count((value) => at(value, 'method') === method)

/** Whatever was to be told of the change has been told. */
async function quiet({ client }: Attached): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 4 * limits.session.changeDelayMs))
  await client.request('ping')
}

async function parties(attach: () => Promise<Attached>): Promise<Attached[]> {
  const all = [await attach(), await attach(), await attach()]
  await Promise.all(all.map(({ client }, at) => client.open(at === 2 ? { roots: {} } : {})))
  for (const { client } of all) client.onRequest = () => '{"roots":[]}'
  for (const party of all) await party.client.toolNames()
  return all
}

/** What this server was sent, as text. */
async function seen(client: RawClient, tool: string): Promise<string[]> {
  const lines = listAt(said(await client.call(tool)), 'lines')
  return lines.map((line) => Buffer.from(String(line), 'base64').toString())
}

const a = itServer({ IT_NAME: 'a' })
const b = itServer({ IT_NAME: 'b' })
const c = itServer({ IT_NAME: 'c' })

type Programs = Readonly<Record<string, StdioServerJson>>

const oneSlot = (name: string): Programs => ({ a: itServer({ IT_NAME: name }, { concurrency: 1 }) })

const lazy = (env: Readonly<Record<string, string>>): Programs => ({
  a,
  z: itServer({ IT_NAME: 'z', ...env }, { lazy: true }),
})

/** Whether a call without the argument that its tool demands fails, in any revision. */
const isRefused = async ({ client }: Attached): Promise<boolean> => {
  const { value } = await client.call('a__strict', {})
  return at(value, 'error') !== undefined || at(value, 'result', 'isError') === true
}

describe('reload', () => {
  test('keeps what is the same, replaces what differs, adds, removes, and tells each client once', async (t) => {
    const { proxy, attach } = await libraryProxy(t, { a, b, c })
    const all = await parties(attach)
    const before = await Promise.all(all.map(({ client }) => client.pidOf('a__nonce')))
    const replaced = await Promise.all(all.map(({ client }) => client.pidOf('b__nonce')))
    const running = all.map(({ client }, i) => client.call('a__hold', { key: `k${i}` }))
    const changes = await proxy.reload({
      mcpServers: { d: itServer({ IT_TOOLS: 'extra' }), b: itServer({ IT_NAME: 'b', IT_TOOLS: 'more' }), a },
    })
    assert.deepEqual(changes, { added: ['d'], replaced: ['b'], removed: ['c'], kept: ['a'] })
    for (const [i, party] of all.entries()) {
      const { client } = party
      await client.notification(changed.tools)
      assert.equal(await client.pidOf('a__nonce'), before[i])
      assert.notEqual(await client.pidOf('b__nonce'), replaced[i])
      assert.equal(failure(await client.call('c__nonce', { n: '' }))[0], -32601)
      const names = await party.client.toolNames()
      assert(names.includes('b__more') && names.includes('d__extra'))
      assert.equal(
        names.findIndex((name) => name.startsWith('d__')),
        0,
        'in the order of the new file',
      )
      assert(!names.some((name) => name.startsWith('c__')))
      await client.call('a__release', { key: `k${i}` })
    }
    for (const [i, call] of running.entries()) assert.equal(textAt(said(await call), 'n'), `k${i}`)
    for (const party of all) {
      await quiet(party)
      assert.equal(told(party, changed.tools), 1)
      assert.equal(told(party, changed.resources), 0, 'nobody had read the resources')
    }
    for (const pid of replaced) await until(() => gone(pid))
  })

  test('tells a client too that comes while a new server starts', async (t) => {
    const { proxy, attach } = await libraryProxy(t, { a, b })
    await parties(attach)
    const go = join(scratch(t), 'go')
    const late = itServer({ IT_NAME: 'c', IT_START: `late:${go}` })
    const changing = proxy.reload({ startupGraceMs: 60_000, mcpServers: { a, c: late } })
    const newcomer = await attach()
    await newcomer.client.open()
    assert((await newcomer.client.toolNames()).includes('b__nonce'))
    writeFileSync(go, '')
    await changing
    await newcomer.client.notification(changed.tools)
    const names = await newcomer.client.toolNames()
    assert(names.includes('c__nonce') && !names.includes('b__nonce'))
    await quiet(newcomer)
    assert.equal(told(newcomer, changed.tools), 1)
  })

  test('a new server that hangs at its start does not keep the rest from anybody', async (t) => {
    const { proxy, attach } = await libraryProxy(t, { a, b }, { limits: { ...limits, newsWaitMs: 200 } })
    const [party = assert.fail()] = await parties(attach)
    const hanging = itServer({ IT_NAME: 'h', IT_START: 'hang' })
    await proxy.reload({ startupGraceMs: 100, mcpServers: { a, hanging } })
    await party.client.notification(changed.tools)
    assert(!(await party.client.toolNames()).some((name) => name.startsWith('b__')))
  })

  test('changes what is shown and checked of a server without starting it anew', async (t) => {
    const { proxy, attach } = await libraryProxy(t, { a })
    const all = await parties(attach)
    const before = await Promise.all(all.map(({ client }) => client.pidOf('a__nonce')))
    for (const party of all) assert.equal(await isRefused(party), true)
    const tool = { deny: ['die'], rename: { nonce: 'once' } }
    const settings = { describe: false, argumentChecks: 'off' } as const
    const changes = await proxy.reload({ mcpServers: { a: { ...a, tools: tool, ...settings } } })
    assert.deepEqual(changes?.kept, ['a'])
    for (const [i, party] of all.entries()) {
      await party.client.notification(changed.tools)
      const names = await party.client.toolNames()
      assert(names.includes('a__once') && !names.includes('a__nonce') && !names.includes('a__die'))
      assert.equal(await isRefused(party), false)
      assert.equal(await party.client.pidOf('a__once'), before[i])
      await quiet(party)
      assert.equal(told(party, changed.tools), 1)
    }
  })

  test('makes calls that wait for a replaced server on the one that replaces it, in their order', async (t) => {
    const { proxy, attach } = await libraryProxy(t, oneSlot('a'), { limits: { ...limits, drainMs: 1500 } })
    const all = await parties(attach)
    const before = await Promise.all(all.map(({ client }) => client.pidOf('a__nonce')))
    // The first two share a process, which has one slot.
    const stuck = [all[0], all[2]].map((party) => party?.client.call('a__never'))
    const waiting = all.map(({ client }, i) =>
      ['x', 'y', 'z'].map((n) => client.call('a__nonce', { n: n + i })),
    )
    // A cancelled one is made nowhere.
    for (const [i, { client }] of all.entries()) {
      void client.call('a__nonce', { n: 'no' }, undefined, `no-${i}`).catch(() => undefined)
      client.notify('notifications/cancelled', { requestId: `no-${i}` })
    }
    await Promise.all(all.map(({ client }) => client.request('ping')))
    await proxy.reload({ mcpServers: oneSlot('other') })
    for (const [i, { client }] of all.entries()) {
      const answers = await Promise.all(waiting[i] ?? [])
      assert.deepEqual(
        answers.map((heard) => textAt(said(heard), 'n')),
        ['x', 'y', 'z'].map((n) => n + i),
      )
      assert(answers.every((heard) => numberAt(said(heard), 'pid') !== before[i]))
      const lines = (await seen(client, 'a__seen')).join()
      assert(!lines.includes('"no"'))
      assert(lines.indexOf(`"x${i}"`) < lines.indexOf(`"y${i}"`))
      assert.equal(client.answersTo(`no-${i}`), 0)
    }
    for (const heard of stuck)
      assert.deepEqual(failure((await heard) ?? assert.fail()), [-32603, 'a', 'shutting-down'])
  })

  test('takes log levels, subscriptions and roots over to the new server', async (t) => {
    const { proxy, attach } = await libraryProxy(t, { a, b })
    const all = await parties(attach)
    for (const { client } of all) {
      await client.request('logging/setLevel', { level: 'debug' })
      await client.request('resources/subscribe', { uri: 'it://a/a' })
    }
    await proxy.reload({ mcpServers: { b, a: itServer({ IT_NAME: 'a', OTHER: '1' }) } })
    for (const [i, { client }] of all.entries()) {
      const lines = await seen(client, 'a__seen')
      const named = (method: string): string[] => lines.filter((line) => line.includes(`"${method}"`))
      assert.equal(named('resources/subscribe').length, 1)
      assert.match(named('logging/setLevel')[0] ?? '', /debug/)
      assert.match(named('initialize')[0] ?? '', i === 2 ? /"roots"/ : /"capabilities":\{\}/)
    }
    const [first, second, own] = all
    assert(first !== undefined && second !== undefined && own !== undefined)
    const updated = { method: 'notifications/resources/updated', params: { uri: 'it://a/a' } }
    await first.client.call('a__tell', updated)
    await second.client.notification(updated.method)
    await own.client.call('a__tell', updated)
    await own.client.notification(updated.method)
    for (const party of all) {
      await quiet(party)
      assert.equal(told(party, updated.method), 1)
    }
    own.client.notify('notifications/roots/list_changed')
    await own.client.request('ping')
    assert((await seen(own.client, 'a__seen')).some((line) => line.includes('roots/list_changed')))
  })

  test('an invalid configuration changes nothing and names every problem', async (t) => {
    const { proxy, attach } = await libraryProxy(t, { a })
    const party = await attach()
    await party.client.open()
    const before = await party.client.pidOf('a__nonce')
    await assert.rejects(
      proxy.reload(asRead({ mcpServers: { a: { command: 1 }, b: { url: 'no address' }, c } })),
      (error) => {
        assert(error instanceof ConfigError)
        assert.deepEqual(
          error.problems.map(({ path }) => path),
          ['mcpServers.a.command', 'mcpServers.b.url'],
        )
        return true
      },
    )
    await assert.rejects(proxy.reload({ schemas: { other: { mcpServers: { a } } } }), /does not exist/)
    assert.equal(await party.client.pidOf('a__nonce'), before)
    await quiet(party)
    assert.equal(told(party, changed.tools), 0)
  })

  test('the last of several reloads wins, and a server that is still starting is let go', async (t) => {
    const settings = { startupGraceMs: 500 }
    const { proxy, attach } = await libraryProxy(
      t,
      { a, hangs: itServer({ IT_START: 'hang' }) },
      {},
      settings,
    )
    const party = await attach()
    await party.client.open()
    await party.client.toolNames()
    const before = await party.client.pidOf('a__nonce')
    // A server that took longer than the grace has been told of by now.
    await quiet(party)
    const earlier = told(party, changed.tools)
    const results = await Promise.all([
      proxy.reload({ ...settings, mcpServers: { a, b, hangs: itServer({ IT_START: 'hang' }) } }),
      proxy.reload({ ...settings, mcpServers: { c } }),
      proxy.reload({ ...settings, mcpServers: { a, c } }),
    ])
    assert.deepEqual(results[0], results[2])
    assert.deepEqual(
      proxy.status().map(({ name }) => name),
      ['a', 'c'],
    )
    await until(() => told(party, changed.tools) > earlier)
    assert.equal(await party.client.pidOf('a__nonce'), before)
    await party.client.pidOf('c__nonce')
    await quiet(party)
    assert.equal(told(party, changed.tools), earlier + 1)
  })

  test('a lazy server that is replaced starts for those who have its list, and for nobody else', async (t) => {
    const { proxy, attach } = await libraryProxy(t, lazy({}))
    const party = await attach()
    await party.client.open()
    await proxy.reload({ mcpServers: lazy({ OTHER: '1' }) })
    assert.deepEqual(proxy.status().find(({ name }) => name === 'z')?.pids, [])
    const names = await party.client.toolNames()
    assert(names.includes('z__nonce'))
    await quiet(party)
    const { length } = party.client.heard
    await proxy.reload({ mcpServers: lazy({ OTHER: '2' }) })
    await quiet(party)
    assert.equal(party.client.heard.length, length + 1, 'nothing was told')
    assert.deepEqual(await party.client.toolNames(), names)
  })

  test('is ignored while the proxy closes, with a line in the log', async (t) => {
    const { proxy, attach, log } = await libraryProxy(t, { a })
    const party = await attach()
    await party.client.open()
    const stuck = party.client.call('a__slow', { steps: 3, everyMs: 100 }, { progressToken: 1 })
    await party.client.request('ping')
    const closing = proxy.close()
    assert.equal(await proxy.reload({ mcpServers: { b } }), undefined)
    assert(log.some(({ level, message }) => level === 'warn' && message.includes('is closing')))
    assert.equal(numberAt(said(await stuck), 'at'), 4)
    await closing
  })

  test('later clients have the new servers alone, and the new name', async (t) => {
    const { proxy, attach } = await libraryProxy(t, { a })
    await proxy.reload({ mcpServers: { b }, server: { name: 'renamed' } })
    const party = await attach()
    const { value } = await party.client.request('initialize', {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'x', version: '1' },
    })
    assert.equal(textAt(value, 'result', 'serverInfo', 'name'), 'renamed')
    assert((await party.client.toolNames()).every((name) => name.startsWith('b__')))
  })
})
