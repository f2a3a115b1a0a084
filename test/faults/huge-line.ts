// Lines longer than anybody should write, and one that is as long as it may be.
//
// The call that asked gets its one answer, everybody else goes on, and memory
// stays within twice what a line may have.

import { at, textAt } from '../integration/support/json.js'
import { program } from '../integration/support/programs.js'
import type { Scope } from '../integration/support/spawned.js'
import { turnBoundMs } from '../support/processor-time.js'
import { Beside } from './support/beside.js'
import { HttpCaller, type Posted, answerOf } from './support/http-caller.js'
import { type UnderTest, startUnderTest } from './support/under-test.js'
import {
  type Findings,
  MiB,
  Promises,
  type Run,
  type Scenario,
  measured,
  percentile,
} from './support/scenario.js'

const LINE_BYTES_MAX = 64 * MiB
/** Twice the limit, and what a proxy at work needs besides. */
const GROWTH_BYTES_MAX = 2 * LINE_BYTES_MAX + 32 * MiB
/** How long calls are looked at while nothing else goes on: what they take is the machine's own. */
const ALONE_MS = 1000

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
    long: { command: process.execPath, args: [program('long.mjs')], timeout: 600_000 },
    well: { command: process.execPath, args: [program('nonces.mjs')] },
  }
  const proxy = startUnderTest(scope, '--http', servers, { cli })
  const port = await proxy.port()
  const asker = new HttpCaller(port)
  scope.after(() => asker.close())
  await asker.open()
  await asker.call('well__nonce', { nonce: 'warm' })
  await asker.call('long__line', { bytes: 10 })
  return new Trial(proxy, asker, port)
}

class Trial {
  readonly #proxy: UnderTest
  readonly #asker: HttpCaller
  readonly #port: number

  constructor(proxy: UnderTest, asker: HttpCaller, port: number) {
    this.#proxy = proxy
    this.#asker = asker
    this.#port = port
  }

  /** Asks for the line, while somebody else calls and pings. */
  async measure(name: string, stage: Stage, promises: Promises): Promise<Record<string, number>> {
    const alone = await this.#alone()
    await this.#proxy.facts('gc')
    await this.#proxy.facts('reset')
    this.#proxy.forgetPeak()
    const resident = this.#proxy.resident()
    const beside = await Beside.begin(this.#port)
    const posted: Posted = await this.#asker.call(stage.tool, { bytes: stage.bytes })
    const { latencies, failed } = await beside.end()
    const growth = this.#proxy.resident('VmHWM') - resident
    const { turnMaxMs } = await this.#proxy.facts()
    const answers = posted.messages.filter((message) => at(message, 'method') === undefined)
    promises.equal(answers.length, 1, `${name}: answers`)
    promises.hold(stage.holds(answerOf(posted)), `${name}: answered with ${posted.body.slice(0, 200)}`)
    promises.equal(failed, 0, `${name}: calls of others that failed`)
    promises.below(growth, GROWTH_BYTES_MAX, `${name}: bytes of memory`)
    promises.below(turnMaxMs, turnBoundMs(), `${name}: ms of processor time of the longest turn`)
    return {
      [`${name}: MiB`]: growth / MiB,
      [`${name}: longest turn ms`]: turnMaxMs,
      [`${name}: calls beside it`]: latencies.length,
      [`${name}: p99 of them ms`]: percentile(latencies, 0.99),
      [`${name}: longest of them ms`]: percentile(latencies, 1),
      [`${name}: longest alone ms`]: alone,
    }
  }

  /** The longest that a call takes while nothing else goes on. */
  async #alone(): Promise<number> {
    const beside = await Beside.begin(this.#port)
    await new Promise((resolve) => setTimeout(resolve, ALONE_MS))
    return percentile((await beside.end()).latencies, 1)
  }

  end(): Promise<number | string> {
    this.#proxy.child.kill('SIGTERM')
    return this.#proxy.exited
  }
}
