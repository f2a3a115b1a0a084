// A normal stop of servers that will not go, by the end of stdin and by a signal.

import type { Spawned } from '../integration/support/spawned.js'
import { HANG_MS } from '../integration/support/waiting.js'
import type { FaultFigure, FaultSettings, Scenario } from './scenario.js'
import { leftAfter, marked } from './support/marked.js'
import { tree, withProxy } from './support/trees.js'

/** A stop is waiting for the most part. */
const AT_ONCE = 8

export const stopTrees: Scenario = {
  promise: 'a stopped proxy leaves nobody behind, and its exit code is 0',
  countDefault: 200,
  run,
}

interface Outcome {
  readonly processes: number
  readonly problems: readonly string[]
}

async function run({ count, cli, progress }: FaultSettings): Promise<FaultFigure> {
  const outcomes: Outcome[] = []
  const problems = (): string[] => outcomes.flatMap((outcome) => outcome.problems)
  let started = 0
  const lane = async (): Promise<void> => {
    while (started < count) {
      const turn = started++
      outcomes.push(await stop(cli, `stop-trees-${process.pid}-${turn}`, turn % 2 === 0))
      progress(`stop ${outcomes.length} of ${count}: ${problems().length} problems so far`)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, lane))
  const processes = outcomes.reduce((sum, outcome) => sum + outcome.processes, 0)
  const wrong = problems()
  const line = `${count} stops of ${processes} processes that ignore end of file and SIGTERM, ${wrong.length} problems`
  return {
    line: [line, ...wrong.slice(0, 5)].join('; '),
    holds: wrong.length === 0 && processes >= 6 * count,
  }
}

async function stop(cli: string, mark: string, bySignal: boolean): Promise<Outcome> {
  const servers = { a: tree(mark), b: tree(mark) }
  return withProxy({ cli, mark }, servers, async (proxy: Spawned) => {
    await proxy.client.open()
    for (const service of Object.keys(servers)) await proxy.client.call(`${service}__nonce`, { n: '1' })
    const processes = marked(mark).length
    if (bySignal) proxy.child.kill('SIGTERM')
    else proxy.end()
    const exit = await proxy.exited
    const left = await leftAfter(mark, HANG_MS)
    const problems = left.map(({ pid, command }) => `survived: ${pid} ${command}`)
    return { processes, problems: exit === 0 ? problems : [...problems, `exit code ${exit}`] }
  })
}
