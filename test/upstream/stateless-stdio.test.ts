// A server of revision 2026-07-28 behind clients with sessions: the requests that it receives, and who is notified of
// changes. `spec-fixtures/n-server-session.jsonl` and `n-driven.jsonl` cover a single client.

import { strict as assert } from 'node:assert'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import type { RawClient } from '../integration/support/client.js'
import { at, parsed, textAt } from '../integration/support/json.js'
import { libraryProxy } from '../integration/support/library.js'
import { type ServerEntry, cli, nodeProgram } from '../integration/support/programs.js'
import { type Scope, configFile, scratch, spawnProgram } from '../integration/support/spawned.js'
import { until } from '../integration/support/waiting.js'

const N = '2026-07-28'
const key = (name: string): string => `io.modelcontextprotocol/${name}`

async function behind(
  t: Scope,
  more: ServerEntry = {},
  program = 'typed.mjs',
  env: Record<string, string> = {},
) {
  const file = join(scratch(t), 'lines')
  const s = nodeProgram(program, { FILE: file, ...env }, more)
  const proxy = await libraryProxy(t, { s })
  const lines = (): unknown[] =>
    existsSync(file)
      ? readFileSync(file, 'utf8')
          .split('\n')
          .filter((line) => line !== '')
          .map((line) => parsed(line))
      : []
  return {
    ...proxy,
    lines,
    methods: () => lines().map((line) => textAt(line, 'method')),
    open: async (capabilities = {}) => {
      const { client } = await proxy.attach()
      await client.open(capabilities, '2025-11-25')
      return client
    },
  }
}

const result = (heard: { readonly value: unknown }): unknown => at(heard.value, 'result')
const sentOf = (lines: readonly unknown[], method: string): unknown[] =>
  lines.filter((line) => at(line, 'method') === method)

const said = (client: RawClient): number =>
  client.count((value) => at(value, 'method') === 'notifications/message')
const heard = (client: RawClient, method: string): unknown[] =>
  client.heard.flatMap(({ value }) => (at(value, 'method') === method ? [value] : []))

test('nothing is written to it but requests that name their revision, and cancels', async (t) => {
  const { open, lines, methods } = await behind(t)
  const client = await open({ roots: { listChanged: true }, sampling: {}, elicitation: {} })
  await client.request('logging/setLevel', { level: 'debug' })
  await client.call('s__meta')
  client.notify('notifications/roots/list_changed')
  await client.request('ping')
  await client.request('resources/subscribe', { uri: 'typed:///a' })
  await client.request('resources/unsubscribe', { uri: 'typed:///a' })
  await client.call('s__meta')
  for (const line of lines()) {
    if (at(line, 'method') === 'notifications/cancelled') continue
    assert.equal(textAt(line, 'params', '_meta', key('protocolVersion')), N)
    assert.equal(typeof at(line, 'params', '_meta', key('clientCapabilities')), 'object')
  }
  const never = ['initialize', 'ping', 'logging/setLevel', 'resources/subscribe', 'resources/unsubscribe']
  for (const method of [...never, 'notifications/roots/list_changed', 'notifications/initialized'])
    assert(!methods().includes(method), method)
})

test('a request has the log level that its client has set, and a log message goes to the call with that level', async (t) => {
  const { open } = await behind(t)
  const [loud, quiet] = [await open(), await open()]
  await loud.request('logging/setLevel', { level: 'info' })
  assert.match((await loud.call('s__log')).text, /"text":"info"/)
  assert.match((await quiet.call('s__log')).text, /"text":"undefined"/)
  assert.deepEqual([said(loud), said(quiet)], [1, 0])
})

describe('changes', () => {
  test('of resources come to those who follow them, as one of a session says it', async (t) => {
    const { open, lines } = await behind(t)
    const [one, two] = [await open(), await open()]
    assert.deepEqual(result(await one.request('resources/subscribe', { uri: 'typed:///a' })), {})
    await two.call('s__change')
    await until(() => heard(one, 'notifications/resources/updated').length > 0)
    const [update] = heard(one, 'notifications/resources/updated')
    assert.deepEqual(at(update, 'params'), { uri: 'typed:///a', _meta: {} })
    assert.deepEqual(heard(two, 'notifications/resources/updated'), [])
    await one.request('resources/unsubscribe', { uri: 'typed:///a' })
    await until(() => sentOf(lines(), 'subscriptions/listen').length === 3)
    const filters = sentOf(lines(), 'subscriptions/listen').map((line) => at(line, 'params', 'notifications'))
    const lists = { toolsListChanged: true }
    assert.deepEqual(filters, [lists, { ...lists, resourceSubscriptions: ['typed:///a'] }, lists])
    await until(() => sentOf(lines(), 'notifications/cancelled').length === 2)
  })

  test('of a resource that the server does not tell of are refused', async (t) => {
    const { open } = await behind(t)
    const refused = await (await open()).request('resources/subscribe', { uri: 'typed:///no' })
    assert.equal(at(refused.value, 'error', 'code'), -32602)
  })

  test('are listened for again when the server comes back', async (t) => {
    const { open, lines, proxy } = await behind(t, { restartDelay: 10 })
    const client = await open()
    await client.request('resources/subscribe', { uri: 'typed:///a' })
    const [pid = 0] = proxy.status()[0]?.pids ?? []
    const before = sentOf(lines(), 'subscriptions/listen').length
    process.kill(pid, 'SIGKILL')
    await until(() => sentOf(lines(), 'subscriptions/listen').length > before)
    await client.call('s__change')
    await until(() => heard(client, 'notifications/resources/updated').length > 0)
  })
})

test('a server that ends before initialize, does not answer the probe and holds a lock is up', async (t) => {
  const lock = join(scratch(t), 'lock')
  const { open, log } = await behind(t, {}, 'small.mjs exits', { LOCK: lock })
  const client = await open()
  assert.match((await client.call('s__old')).text, /"text":"old"/)
  const found = log.filter(({ level }) => level === 'error' || level === 'warn')
  assert.deepEqual(found, [])
})

test('the next start of the proxy says that it does not probe a server that ended on it', async (t) => {
  const [home, file] = [scratch(t), join(scratch(t), 'lines')]
  const config = configFile(t, { s: nodeProgram('small.mjs exits', { FILE: file }, {}) })
  const asked = async (): Promise<[unknown, string | undefined]> => {
    const args = [cli, '--stdio', '--config', config]
    const proxy = spawnProgram(t, process.execPath, args, { env: { ...process.env, HOME: home } })
    await proxy.client.open()
    assert.match((await proxy.client.call('s__old')).text, /"text":"old"/)
    await proxy.finish()
    const [, evidence] = /protocol version 2025-11-25 \((.*?)\)/.exec(proxy.stderr) ?? []
    const questions = readFileSync(file, 'utf8').split('server/discover').length - 1
    return [questions, evidence]
  }
  assert.deepEqual(await asked(), [1, 'it ended on server/discover'])
  assert.deepEqual(await asked(), [1, 'it did not answer server/discover earlier, or ended on it'])
})
