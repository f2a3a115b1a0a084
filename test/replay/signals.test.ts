// A replay that is ended by a signal leaves nothing behind.

import { strict as assert } from 'node:assert'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { until } from '../integration/support/waiting.js'
import { cli, fileOf } from './support.js'

for (const [signal, exitCode] of [
  ['SIGTERM', 143],
  ['SIGINT', 130],
] as const)
  test(`${signal} removes the temporary configuration, and the exit code names the signal`, async (t) => {
    const temporary = mkdtempSync(join(tmpdir(), 'mcps-signal-'))
    t.after(() => rmSync(temporary, { recursive: true, force: true, maxRetries: 10 }))
    const config = {
      mcpServers: {
        s: { command: '$node', args: ['-e', 'setInterval(() => {}, 1e6)'], env: { KEY: 'secret' } },
      },
    }
    const file = fileOf(
      JSON.stringify({ mcps: 1, config }),
      '{"dir":"in","frame":{"jsonrpc":"2.0","id":1,"method":"tools/list"}}',
      '{"dir":"out","frame":{"jsonrpc":"2.0","id":1,"result":{}}}',
    )
    const child = spawn(process.execPath, [cli, 'replay', '--trust', file], {
      env: { ...process.env, TMPDIR: temporary },
    })
    const closed = once(child, 'close')
    const folders = (): string[] => readdirSync(temporary).filter((name) => name.startsWith('mcps-replay-'))
    await until(() => folders().length > 0)
    child.kill(signal)
    assert.deepEqual(await closed, [exitCode, null])
    assert.deepEqual(folders(), [])
  })
