// Lines longer than anybody should write, and one that is as long as it may be.
//
// The call that asked gets its one answer, everybody else goes on, and memory
// stays within twice what a line may have.

import { at, textAt } from '../integration/support/json.js'
import { program } from '../integration/support/programs.js'
import type { Scope } from '../integration/support/spawned.js'
import type { Scenario } from './scenario.js'
import { HttpCaller, type Posted, answerOf } from './support/http-caller.js'
import { measured } from './support/measured.js'
import { type Findings, MiB, Promises, type Run, percentile } from './support/run.js'
import { type UnderTest, startUnderTest } from './support/under-test.js'

const LINE_BYTES_MAX = 64 * MiB
/** Twice the limit, and what a proxy at work needs besides. */
const GROWTH_BYTES_MAX = 2 * LINE_BYTES_MAX + 32 * MiB
const TURN_MS_MAX = 100

export const hugeLine: Scenario = measured(
  'a line over the limit fails one call; everybody else goes on, and memory stays within twice the limit',
  1,
  run,
)

/** `count` is the number of rounds. */
async function run(scope: Scope, { count, cli, say }: Run): Promise<Findings> {
  const promises = new Promises()
  const figures: Record<string, number> = {}
  for (let round = 1; round <= count; round++) {
    // A server that exceeds the limit again and again is restarted, so each round has its own proxy.
    const trial = await begin(scope, cli)
    for (const [name, stage] of stages) {
      say(`round ${round}: ${name}`)
      for (const [what, value] of Object.entries(await trial.measure(name, stage, promises)))
        figures[what] = Math.max(figures[what] ?? 0, value)
    }
    await trial.end()
  }
  return { figures, broken: promises.broken }
}

interface Stage {
  readonly tool: string
  readonly bytes: number
  readonly holds: (answer: unknown) => boolean
}

const isTooLarge = (answer: unknown): boolean => at(answer, 'error', 'data', 'reason') === 'too-large'

const stages: readonly (readonly [string, Stage])[] = [
  ['100 MB line', { tool: 'long__line', bytes: 100_000_000, holds: isTooLarge }],
  [
    '1 GiB without end',
    {
      tool: 'long__endless',
      bytes: 1024 * MiB,
      holds: (answer) => textAt(answer, 'result', 'content', 0, 'text') === String(1024 * MiB),
    },
  ],
  [
    '64 MiB line',
    {
      tool: 'long__line',
      bytes: LINE_BYTES_MAX - 1024,
      holds: (answer) => textAt(answer, 'result', 'content', 0, 'text').length === LINE_BYTES_MAX - 1024,
    },
  ],
]

async function begin(scope: Scope, cli: string): Promise<Trial> {
  const servers = {
    long: { command: process.execPath, args: [program('long.mjs')], timeout: 120_000 },
    well: { command: process.execPath, args: [program('nonces.mjs')] },
  }
  const proxy = startUnderTest(scope, '--http', servers, { cli })
  const port = await proxy.port()
  const [asker, other] = [new HttpCaller(port), new HttpCaller(port)]
  for (const caller of [asker, other]) {
    scope.after(() => caller.close())
    await caller.open()
    await caller.call('well__nonce', { nonce: 'warm' })
    await caller.call('long__line', { bytes: 10 })
  }
  return new Trial(proxy, asker, other)
}

class Trial {
  readonly #proxy: UnderTest
  readonly #asker: HttpCaller
  readonly #other: HttpCaller

  constructor(proxy: UnderTest, asker: HttpCaller, other: HttpCaller) {
    this.#proxy = proxy
    this.#asker = asker
    this.#other = other
  }

  /** Asks for the line, while somebody else calls and pings. */
  async measure(name: string, stage: Stage, promises: Promises): Promise<Record<string, number>> {
    await this.#proxy.facts('gc')
    await this.#proxy.facts('reset')
    this.#proxy.forgetPeak()
    const before = this.#proxy.resident()
    let isOver = false
    const others = this.#callOn(() => isOver)
    const posted: Posted = await this.#asker.call(stage.tool, { bytes: stage.bytes })
    isOver = true
    const { latencies, failed } = await others
    const growth = this.#proxy.resident('VmHWM') - before
    const { turnMaxMs } = await this.#proxy.facts()
    const answers = posted.messages.filter((message) => at(message, 'method') === undefined)
    promises.equal(answers.length, 1, `${name}: answers`)
    promises.hold(stage.holds(answerOf(posted)), `${name}: answered with ${posted.body.slice(0, 200)}`)
    promises.equal(failed, 0, `${name}: calls of others that failed`)
    promises.below(growth, GROWTH_BYTES_MAX, `${name}: bytes of memory`)
    promises.below(turnMaxMs, TURN_MS_MAX, `${name}: ms of processor time of the longest turn`)
    return {
      [`${name}: MiB`]: growth / MiB,
      [`${name}: longest turn ms`]: turnMaxMs,
      [`${name}: calls beside it`]: latencies.length,
      [`${name}: longest of them ms`]: percentile(latencies, 1),
    }
  }

  end(): Promise<number | string> {
    this.#proxy.child.kill('SIGTERM')
    return this.#proxy.exited
  }

  async #callOn(isOver: () => boolean): Promise<{ latencies: number[]; failed: number }> {
    const latencies: number[] = []
    let failed = 0
    for (let turn = 0; turn < 3 || !isOver(); turn++) {
      const from = performance.now()
      const posted = await (turn % 2 === 0
        ? this.#other.request('ping')
        : this.#other.call('well__nonce', { nonce: String(turn) }))
      latencies.push(performance.now() - from)
      if (at(answerOf(posted), 'result') === undefined) failed++
    }
    return { latencies, failed }
  }
}
