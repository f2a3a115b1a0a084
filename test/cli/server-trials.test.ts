// Messages about a server while it is being tried.

import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { resolveConfig, selectSchema } from '../../src/config/config.js'
import { lateWords, tryServer } from '../../src/cli/server-trials.js'
import { MemoryFiles } from '../kept/support/memory-files.js'
import { FakeRuntime, settled } from '../upstream/support/fake-runtime.js'

for (const [title, hasListed, printed, startMs, warning] of [
  [
    'prints what is no message',
    false,
    'hello\n',
    120_000,
    'stdout has a line that is no JSON-RPC message: hello',
  ],
  ['prints nothing', false, '', 120_000, undefined],
  ['has listed before', true, '', 30_000, undefined],
] as const)
  test(`a server that ${title} is reported after 10 s, long before its start fails`, async () => {
    const value = { mcpServers: { s: { command: 'x' } } }
    const config = resolveConfig(value, { source: 'memory', folder: '/', env: {}, home: '/' })
    const schema = selectSchema(config, 'default')
    const [server] = schema.servers
    assert(server !== undefined)
    const runtime = new FakeRuntime()
    const files = new MemoryFiles(() => runtime.wallNow())
    runtime.files = () => files
    if (hasListed) await tryServer(config, schema, server, { runtime, profile: undefined })
    const { length: tried } = runtime.children
    runtime.script = () => undefined
    const late: string[] = []
    const trial = tryServer(config, schema, server, {
      runtime,
      profile: undefined,
      onLate: (event, last) => void late.push(lateWords('s', event, last)),
    })
    await settled()
    // A start that no list waits for is delayed.
    if (hasListed) await runtime.pass(100)
    runtime.children[tried]?.stdout.write(printed)
    await runtime.pass(9999)
    assert.deepEqual(late, [])
    await runtime.pass(1)
    const why = warning === undefined ? '' : `; ${warning}`
    assert.deepEqual(late, [
      `s is not ready after 10 s, and may take ${startMs / 1000} s (startTimeout)${why}`,
    ])
    await runtime.pass(120_000)
    assert.match((await trial).failure ?? '', new RegExp(`did not answer initialize within ${startMs} ms`))
    assert.equal(late.length, 1)
  })
