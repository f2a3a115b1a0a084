// Servers that are started when they are needed, and stopped when they are not.

import { strict as assert } from 'node:assert'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { toolNames } from './support/client.js'
import { gatewayOf } from './support/gateway.js'
import { at } from './support/json.js'
import { type ServerEntry, program } from './support/programs.js'
import { type Scripted, opening, scripted, simple, timed } from './support/scripted.js'
import { type Scope, scratch, spawnProxy } from './support/spawned.js'
import { until } from './support/waiting.js'

/** A real server, and how often it was started. */
function counted(
  t: Scope,
  more: ServerEntry = {},
): { readonly entry: ServerEntry; readonly starts: () => number } {
  const file = join(scratch(t), 'starts')
  writeFileSync(file, '')
  const script = `echo >> "${file}"; exec "${process.execPath}" "${program('it-server.mjs')}"`
  return {
    entry: { command: '/bin/sh', args: ['-c', script], ...more },
    starts: () => readFileSync(file, 'utf8').length,
  }
}

const processesOf = ({ runtime }: Scripted, name: string): number =>
  runtime.children.filter(({ command }) => command === name).length

describe('a lazy server', () => {
  test('is not started for a client that only opens a session, and is for a list', async (t) => {
    const it = await scripted(t, { s: { lazy: true }, eager: {} }, simple)
    const party = await it.attach()
    const { client } = party
    const { heard } = await timed(it, opening(party))
    assert.notEqual(at(heard.value, 'result', 'capabilities', 'tools'), undefined, 'it may have tools')
    await timed(it, client.call('eager__t'))
    assert.deepEqual([processesOf(it, 's'), it.proxy.status()[0]?.state], [0, 'disconnected'])
    const listed = await timed(it, client.request('tools/list'))
    assert.deepEqual(toolNames(listed.heard), ['s__t', 'eager__t'])
    assert.deepEqual([processesOf(it, 's'), it.proxy.status()[0]?.state], [1, 'connected'])
  })

  test('is not started before its time by the command, nor by the gateway', async (t) => {
    const [s, o] = [counted(t, { lazy: true }), counted(t)]
    const { client } = spawnProxy(t, { s: s.entry, o: o.entry })
    await client.open()
    await client.call('o__nonce')
    assert.equal(s.starts(), 0)
    await client.call('s__nonce')
    assert.equal(s.starts(), 1)

    const g = counted(t, { lazy: true })
    await gatewayOf(t, { mcpServers: { g: g.entry, o: o.entry } })
    await until(() => o.starts() === 2)
    assert.equal(g.starts(), 0)
  })
})
