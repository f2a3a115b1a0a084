// A configuration that changes while clients use the proxy.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { limits } from '../../src/index.js'
import { failure, said } from './support/client.js'
import { at, numberAt, textAt } from './support/json.js'
import { type Attached, libraryProxy } from './support/library.js'
import { itServer } from './support/programs.js'
import { gone, until } from './support/waiting.js'

const changed = {
  tools: 'notifications/tools/list_changed',
  resources: 'notifications/resources/list_changed',
}

const told = ({ client }: Attached, method: string): number =>
  client.count((value) => at(value, 'method') === method)

/** Waits until all notifications of the change have come. */
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

const a = itServer({ IT_NAME: 'a' })
const b = itServer({ IT_NAME: 'b' })
const c = itServer({ IT_NAME: 'c' })

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

  test('a new server that hangs at its start does not keep the rest from anybody', async (t) => {
    const { proxy, attach } = await libraryProxy(t, { a, b })
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
})
