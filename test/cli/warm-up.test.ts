// Which starts wait for the warm-up of another process.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isWarmingUp, keptLock } from '../../src/cli/warm-up.js'
import { resolveConfig, selectSchema } from '../../src/config/config.js'
import { realRuntime } from '../../src/real-runtime.js'
import { FileLock } from '../../src/runtime/file-lock.js'
import { type Scope, scratch } from '../integration/support/spawned.js'

test('the warm-up of one schema holds up no server of another one', (t: Scope) => {
  const folder = scratch(t)
  const env = { HOME: folder }
  const mcpServers = { time: { command: 'npx', args: ['-y', 'time'] } }
  const config = resolveConfig(
    { schemas: { a: { mcpServers }, b: { mcpServers } } },
    { source: `${folder}/config.json`, folder, env },
  )
  const [a, b] = [selectSchema(config, 'a'), selectSchema(config, 'b')]
  const runtime = { ...realRuntime(), env, setTimer: () => ({ cancel: () => {} }) }
  const warming = (): boolean[] => [a, b].map((schema) => isWarmingUp(config, schema, runtime)('time'))
  assert.deepEqual(warming(), [false, false])
  const lock = new FileLock(keptLock(config, a, env), runtime)
  assert(lock.tryAcquire())
  assert.deepEqual(warming(), [true, false])
  assert.equal(isWarmingUp(config, a, runtime)('other'), false)
  lock.release()
  assert(new FileLock(keptLock(config, b, env), runtime).tryAcquire())
  assert.deepEqual(warming(), [false, true])
})
