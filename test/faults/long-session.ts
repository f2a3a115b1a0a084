// One client that stays and asks a million times leaves no more behind than one that asks once.

import type { Scope } from '../integration/support/spawned.js'
import { scratch } from '../integration/support/spawned.js'
import { textAt } from '../integration/support/json.js'
import { SwiftServers } from './support/swift.js'
import { settled, startUnderTest } from './support/under-test.js'
import { type Findings, MiB, Promises, type Run, type Scenario, measured } from './support/scenario.js'

const IN_FLIGHT = 32
/** Calls before the first look, where there are as many. */
const WARM_MAX = 50_000
const GROWTH_BYTES_MAX = 30 * MiB

export const longSession: Scenario = measured(
  'a session with very many calls grows by less than 30 MB, and each is answered once by what it asked',
  1_000_000,
  run,
)

/** `count` is the number of calls. */
async function run(scope: Scope, { count, cli, say }: Run): Promise<Findings> {
  const proxy = startUnderTest(scope, '--stdio', { s: new SwiftServers(scratch(scope)).entry('s') }, { cli })
  const { client } = proxy
  await client.open()
  let [wrong, made, answers] = [0, 0, -1]
  const calls = async (until: number): Promise<void> => {
    const lane = async (): Promise<void> => {
      while (made < until) {
        const nonce = String(made++)
        const { value } = await client.call('s__hit', { nonce })
        if (textAt(value, 'result', 'content', 0, 'text') !== nonce) wrong++
        if (made % 1000 === 0) answers += client.heard.splice(0).length
        if (made % 50_000 === 0) say(`${made} calls`)
      }
    }
    await Promise.all(Array.from({ length: IN_FLIGHT }, lane))
  }
  const warm = Math.min(count, WARM_MAX)
  await calls(warm)
  const before = await settled(() => proxy.facts('gc'))
  await calls(warm + Math.ceil(count / 2))
  const half = await settled(() => proxy.facts('gc'))
  await calls(warm + count)
  const after = await settled(() => proxy.facts('gc'))
  answers += client.heard.length
  const promises = new Promises()
  promises.equal(wrong + client.invalid.length, 0, 'calls without their right answer')
  promises.equal(answers, made, 'messages for as many calls')
  promises.below(after.rss - before.rss, GROWTH_BYTES_MAX, 'bytes that the session grew by')
  promises.below(after.descriptors - before.descriptors, 1, 'descriptors that are left')
  const figures = {
    calls: count,
    'MB grown': (after.rss - before.rss) / MiB,
    'MB grown in the second half': (after.rss - half.rss) / MiB,
    'heap MB grown': (after.heapUsed - before.heapUsed) / MiB,
    wrong,
  }
  return { figures, broken: promises.broken }
}
