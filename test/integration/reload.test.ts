// A configuration that changes while clients use the proxy, and servers that are stopped, started anew, and taken over.

import { strict as assert } from 'node:assert'
import { spawn } from 'node:child_process'
import { describe, test } from 'node:test'
import { type ServerEvent, UpstreamError, limits } from '../../src/index.js'
import { type RawClient, failure, said } from './support/client.js'
import { at, numberAt, textAt } from './support/json.js'
import { type Attached, libraryProxy } from './support/library.js'
import { itServer, program } from './support/programs.js'
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
      const first = names.findIndex((name) => name.startsWith('d__'))
      assert.equal(first, 0, 'in the order of the new file')
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

/** Of which servers the client is shown tools. */
async function shown(client: RawClient): Promise<string[]> {
  return [...new Set((await client.toolNames()).map((name) => name.split('__')[0] ?? ''))]
}

const isUnknown = (error: unknown): boolean =>
  error instanceof UpstreamError && error.message === "there is no server 'c'"

test('restart gives both clients another process, and calls that run on the old one finish', async (t) => {
  const { proxy, attach } = await libraryProxy(t, { a, b })
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

test('restart of what does not exist says what does', async (t) => {
  const { proxy } = await libraryProxy(t, { a, b })
  await assert.rejects(proxy.restart('c'), isUnknown)
  await assert.rejects(proxy.stop('c'), isUnknown)
})

test('stop takes a server out of the lists and refuses its calls until it is restarted', async (t) => {
  const { proxy, attach } = await libraryProxy(t, { a, b })
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
  const states = proxy.status().map(({ name, state }) => [name, state])
  assert.deepEqual(states, [
    ['a', 'disconnected'],
    ['b', 'connected'],
  ])
  await proxy.restart('a')
  assert.deepEqual(await shown(two), ['a', 'b'])
  assert.notEqual(await one.pidOf('a__nonce'), pid)
})

test('adopt takes a process with its pid, stderr and exit, and it is stopped like others', async (t) => {
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

test('adopt refuses one without pipes, and says what would be right', async (t) => {
  const { proxy } = await libraryProxy(t, { a: itServer() })
  const child = spawn(process.execPath, ['-e', ''], { stdio: 'ignore' })
  assert.throws(() => proxy.adopt('a', child), /'a' cannot be adopted: start it with stdio/)
})
