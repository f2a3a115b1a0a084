// Servers that are missing, broken or late, beside one that is well.

import { strict as assert } from 'node:assert'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { failure, said } from './support/client.js'
import { at, listAt, textAt } from './support/json.js'
import { itServer } from './support/programs.js'
import { type Servers, scratch, spawnProxy } from './support/spawned.js'

const namesOf = (value: unknown): string[] =>
  listAt(value, 'result', 'tools').map((tool) => textAt(tool, 'name'))

const startupGraceMs = 500
const brokenBeside = (goes: string): Servers => ({
  missing: { command: 'no-such-command-anywhere' },
  crashes: itServer({ IT_START: 'crash' }, { restartDelay: 60_000 }),
  hangs: itServer({ IT_START: 'hang' }),
  unset: itServer({ KEY: '${IT_SURELY_NOT_SET}' }),
  late: itServer({ IT_START: `late:${goes}` }),
  well: itServer(),
})

describe('servers that cannot serve', () => {
  test('the rest answers at once, the late one follows, and calls of the others say why', async (t) => {
    const goes = join(scratch(t), 'goes')
    const proxy = spawnProxy(t, brokenBeside(goes), { more: { startupGraceMs } })
    const { client } = proxy
    const opened = await client.open()
    assert.equal(textAt(opened, 'protocolVersion'), '2025-06-18')
    let first: string[] = []
    // What has not started within the grace is announced later.
    while (first.length === 0) first = namesOf((await client.request('tools/list')).value)
    assert(!proxy.stderr.includes('startTimeout'), 'nobody has waited until those that hang were given up')
    assert(first.every((name) => name.startsWith('well__')))

    const early = client.call('late__nonce', { n: 'early' })
    assert.deepEqual(said(await client.call('well__nonce', { n: 'x' })) !== undefined, true)
    writeFileSync(goes, '')
    const second = await client.toolNamesOnce((names) => names.includes('late__nonce'))
    assert.equal(textAt(said(await early), 'n'), 'early', 'a call to a server that is starting waits for it')
    assert.equal(second.length, 2 * first.length)

    assert.deepEqual(failure(await client.call('missing__nonce')).slice(0, 2), [-32603, 'missing'])
    assert.deepEqual(failure(await client.call('crashes__nonce')).slice(0, 2), [-32603, 'crashes'])
    assert.deepEqual(failure(await client.call('unset__nonce')), [-32603, 'unset', 'unavailable'])
    for (const service of ['missing', 'crashes']) {
      const { value } = await client.call(`${service}__nonce`)
      assert.match(textAt(value, 'error', 'message'), new RegExp(service))
      assert.match(textAt(value, 'error', 'data', 'reason'), /^[a-z-]+$/)
    }
    assert.match(textAt((await client.call('unset__nonce')).value, 'error', 'message'), /IT_SURELY_NOT_SET/)
    assert.match(textAt((await client.call('missing__nonce')).value, 'error', 'message'), /ENOENT/)
    const unknown = await client.call('well__nnonce')
    assert.equal(at(unknown.value, 'error', 'code'), -32601)
  })
})
