// A machine that runs out: no descriptors are left for another server.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { failure } from './support/client.js'
import { textAt } from './support/json.js'
import { SwiftServers } from '../faults/support/swift.js'
import { cli } from './support/programs.js'
import { configFile, scratch, spawnProgram } from './support/spawned.js'

const skip = process.platform === 'win32'

const limited = 'ulimit -n 110; exec "$0" "$@"'

describe('no descriptors left', { skip }, () => {
  test('servers that still got theirs serve, the others say why, and nothing crashes', async (t) => {
    const names = Array.from({ length: 40 }, (_, at) => `s${at}`)
    const swift = new SwiftServers(scratch(t))
    // Every server takes three descriptors of the proxy.
    const servers = Object.fromEntries(names.map((name) => [name, swift.entry(name, { restart: false })]))
    const config = configFile(t, servers, { startupGraceMs: 20_000 })
    const args = ['-c', limited, process.execPath, cli, '--stdio', '--config', config]
    const proxy = spawnProgram(t, '/bin/sh', args)
    await proxy.client.open()
    const answers = await Promise.all(
      names.map((name) =>
        proxy.client.call(`${name}__hit`, { nonce: name }).then((heard) => [name, heard] as const),
      ),
    )
    const served = answers.filter(([, { value }]) => JSON.stringify(value).includes('"result"'))
    const refused = answers.filter((answer) => !served.includes(answer))
    assert(served.length > 0 && refused.length > 0, `${served.length} served`)
    for (const [name, heard] of served)
      assert.equal(textAt(heard.value, 'result', 'content', 0, 'text'), name)
    for (const [name, heard] of refused) {
      assert.deepEqual(failure(heard).slice(0, 2), [-32603, name])
      assert.match(
        textAt(heard.value, 'error', 'message'),
        /EMFILE; this process has no file descriptors left/,
      )
    }
    assert.equal(await proxy.finish(), 0)
  })
})
