// Servers that take more memory than they may.

import { strict as assert } from 'node:assert'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { limits } from '../../src/index.js'
import { ProcessTree } from '../../src/upstream/process/process-tree.js'
import { failure, said } from './support/client.js'
import { textAt } from './support/json.js'
import { proxyWithClient } from './support/library.js'
import { nodeProgram } from './support/programs.js'
import { gone, until, untilAnswered } from './support/waiting.js'

const skip = process.platform === 'win32'
const MiB = 1024 * 1024
const hurried = { ...limits, upstream: { ...limits.upstream, memoryWatchMs: 100 } }

describe('a server with memoryLimitMB', { skip }, () => {
  test('whose child takes more answers each call with one error that says so, and comes back', async (t) => {
    const servers = { s: nodeProgram('hog.mjs', {}, { memoryLimitMB: 250, restartDelay: 1 }) }
    const { client, proxy, log } = await proxyWithClient(t, servers, { limits: hurried })
    const first = said(await client.call('s__pid'))
    const pending = Array.from({ length: 20 }, (_, at) => client.call('s__never', {}, undefined, `p${at}`))
    await client.call('s__take', { mb: 120 })
    await until(() => (proxy.status()[0]?.gauges.memoryBytes ?? 0) > 120 * MiB)
    void client.call('s__take', { mb: 200 }).catch(() => undefined)
    for (const heard of await Promise.all(pending)) {
      assert.deepEqual(failure(heard), [-32603, 's', 'memory-limit'])
      assert.match(textAt(heard.value, 'error', 'message'), /used \d{3} MB of the 250 MB of memoryLimitMB/)
    }
    assert.notEqual(said(await client.call('s__pid')), first)
    await until(() => gone(Number(first)))
    assert.equal(proxy.status()[0]?.state, 'connected')
    for (let at = 0; at < 20; at++) assert.equal(client.answersTo(`p${at}`), 1)
    assert(log.some(({ level, message }) => level === 'error' && /memoryLimitMB and was ended/.test(message)))
  })
})

const group = process.platform === 'linux' ? Number(ownStat()[2]) : process.pid

/** The memory of this process group, measured as on that platform. */
const told = async (platform: string): Promise<number> =>
  (await new ProcessTree(() => 0, platform).memoryOf(group)) ?? 0

describe('the memory of a process group', { skip }, () => {
  test('is about the same, whoever tells it', async () => {
    const seen: number[] = []
    // Other tests of the group take and free memory between the two.
    await untilAnswered(
      async () => {
        const [rough, other] = [await told(process.platform), await told('darwin')]
        seen.push(rough, other)
        return rough > 20 * MiB && other > rough / 2 && other < rough * 2
      },
      () => seen.join(),
    )
  })

  test('is nothing where nobody is, and unknown where nobody tells', async () => {
    assert.equal(await new ProcessTree(() => 0).memoryOf(2 ** 30), 0)
    assert.equal(await new ProcessTree(() => 0, 'win32').memoryOf(group), undefined)
  })
})

/** The fields behind the name of this process in `/proc`. */
function ownStat(): string[] {
  const stat = readFileSync('/proc/self/stat', 'latin1')
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}
