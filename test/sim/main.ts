// `npm run sim`: the simulator on demand.

import { simulateCell } from './cells.js'
import { drawKind, optionOf } from './draw-kind.js'
import { inTurn } from './in-turn.js'
import { type Options, USAGE, readOptions } from './options.js'
import type { Outcome } from './outcome.js'
import type { Plan } from './plan.js'
import { failuresText, shrunkText } from './report.js'
import { shrink } from './shrink.js'
import { simulate } from './simulate.js'
import { warm } from './warm.js'

function say(text: string): void {
  process.stdout.write(`${text}\n`)
}

function run(plan: Plan): Promise<Outcome> {
  return inTurn(() => simulate(plan))
}

function show(outcome: Outcome, trace: boolean): void {
  if (trace) for (const line of outcome.trace()) say(line)
  const { requests, results, events } = outcome
  say(`${requests} requests, ${results} of them with a result; ${events} events, hash ${outcome.hash()}`)
  if (outcome.failures.length > 0) say(failuresText(outcome.failures))
}

/** Repeats one seed; one that fails is made small. */
async function one(seed: number, { ops, trace, kind }: Options): Promise<boolean> {
  const plan = drawKind(kind, seed, ops)
  const outcome = await run(plan)
  show(outcome, trace)
  const [first] = outcome.failures
  if (first === undefined) return true
  const fails = async (smaller: Plan): Promise<boolean> =>
    (await run(smaller)).failures.some(({ check }) => check === first.check)
  const small = await shrink(plan, fails)
  const last = await run(small)
  say(`\n${shrunkText(small, last.trace(), last.failures)}\n${failuresText(last.failures)}`)
  return false
}

async function cells(options: Options): Promise<boolean> {
  let bad = 0
  let all = 0
  for (const fault of options.faults ?? []) {
    for (const phase of options.phases ?? []) {
      const only = options.seed
      for (let at = 0; at < (only === undefined ? options.seeds : 1); at++) {
        const seed = only ?? options.from + at
        const outcome = await inTurn(() => simulateCell(fault, phase, seed))
        all++
        if (options.trace) show(outcome, true)
        if (outcome.failures.length === 0) continue
        bad++
        say(`npm run sim -- --fault ${fault.name} --phase ${phase.name} --seed ${seed} --trace`)
        say(failuresText(outcome.failures))
      }
    }
  }
  say(`${all} runs of cells, ${bad} failed`)
  return bad === 0
}

/** Failing seeds that are shown; more would say the same. */
const SHOWN_MAX = 20
const PROGRESS_EVERY = 100

async function many({ from, seeds, ops, twice, kind }: Options): Promise<boolean> {
  // Traces of errors take long to make. A seed that is repeated has them.
  Error.stackTraceLimit = 0
  let [requests, events, failed] = [0, 0, 0]
  for (let done = 0; done < seeds; done++) {
    const seed = from + done
    const outcome = await run(drawKind(kind, seed, ops))
    requests += outcome.requests
    events += outcome.events
    const isSame = !twice || (await run(drawKind(kind, seed, ops))).hash() === outcome.hash()
    const what = isSame ? failuresText(outcome.failures) : '  the same seed gave another trace'
    if (what !== '' && ++failed <= SHOWN_MAX)
      say(`npm run sim -- --seed ${seed} --ops ${ops}${optionOf(kind)}\n${what}`)
    if ((done + 1) % PROGRESS_EVERY === 0) say(`${done + 1} of ${seeds} seeds, ${failed} failed`)
  }
  say(`${seeds} seeds of ${ops} operations, ${requests} requests, ${events} events: ${failed} failed`)
  const { user, system } = process.cpuUsage()
  say(`${((user + system) / 1e6).toFixed(1)} s of processor time`)
  return failed === 0
}

async function perform(options: Options): Promise<boolean> {
  await warm()
  if (options.faults !== undefined) return cells(options)
  return options.seed === undefined ? many(options) : one(options.seed, options)
}

/** Undefined when they make no sense, which is said. */
function understood(args: readonly string[]): Options | undefined {
  try {
    return readOptions(args)
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
    return undefined
  }
}

const args = process.argv.slice(2)
if (args.includes('--help') || args.includes('-h')) say(USAGE)
else {
  const options = understood(args)
  process.exitCode = options === undefined ? 2 : (await perform(options)) ? 0 : 1
}
