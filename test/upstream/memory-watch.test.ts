import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import type { LogRecord, Runtime } from '../../src/runtime/runtime.js'
import { MemoryWatch } from '../../src/upstream/process/process.js'

const MiB = 1024 * 1024

interface Scene {
  readonly log: LogRecord[]
  readonly exceeded: string[]
  readonly watch: MemoryWatch
  /** Looks once, and finds so much. */
  readonly look: (usedMB: number | undefined | Error) => Promise<void>
}

function scene(): Scene {
  const log: LogRecord[] = []
  const exceeded: string[] = []
  let next: (() => void) | undefined
  let used: number | undefined | Error
  const limit = { service: 's', group: 11, limitBytes: 100 * MiB, everyMs: 2000 }
  const runtime: Pick<Runtime, 'memoryOf' | 'setTimer'> = {
    setTimer: (delayMs, fire) => {
      assert.equal(delayMs, 2000)
      next = fire
      return { cancel: () => (next = undefined) }
    },
    memoryOf: async (group) => {
      assert.equal(group, 11)
      if (used instanceof Error) throw used
      return used === undefined ? undefined : used * MiB
    },
  }
  const watch = new MemoryWatch(
    limit,
    runtime,
    (record) => log.push(record),
    (what) => exceeded.push(what),
  )
  return {
    log,
    exceeded,
    watch,
    look: async (usedMB) => {
      used = usedMB
      next?.()
      await new Promise((resolve) => setImmediate(resolve))
    },
  }
}

describe('the memory of a server', () => {
  test('is warned about from 80 % on, once until it has fallen', async () => {
    const { log, exceeded, look } = scene()
    for (const used of [10, 79, 80, 95, 100, 79, 81]) await look(used)
    assert.equal(log.length, 1)
    assert.equal(log[0]?.level, 'warn')
    assert.match(log[0]?.message ?? '', /'s' uses 80 MB of the 100 MB of memoryLimitMB/)
    for (const used of [69, 85]) await look(used)
    assert.equal(log.length, 2)
    assert.deepEqual(exceeded, [])
  })

  test('above the limit is told once, and not looked at any more', async () => {
    const { exceeded, look } = scene()
    await look(10)
    await look(101)
    await look(200)
    assert.deepEqual(exceeded, ['used 101 MB of the 100 MB of memoryLimitMB and was ended'])
  })

  test('that the system does not tell is said once', async () => {
    for (const unknown of [undefined, new Error('no ps')]) {
      const { log, exceeded, look } = scene()
      await look(unknown)
      await look(200)
      assert.equal(log.length, 1)
      assert.match(log[0]?.message ?? '', /cannot be watched/)
      assert.deepEqual(exceeded, [])
    }
  })

  test('of one that has ended is nobody else’s', async () => {
    const { watch, exceeded, look, log } = scene()
    const looking = look(200)
    watch.stop()
    await looking
    await look(200)
    assert.deepEqual([exceeded, log], [[], []])
  })
})
