// `npm run sim`: runs the simulator from the command line.

import { parseArgs } from 'node:util'
import { simulateCell } from './cells.js'
import { type RunKind, drawKind, kinds, optionsOf } from './draw-kind.js'
import { inTurn } from './in-turn.js'
import { faults, phases } from './matrix.js'
import type { Plan } from './plan.js'
import { shrink, shrunkText } from './shrink.js'
import { type Outcome, failuresText, simulate } from './simulate.js'
import { warm } from './warm.js'

const USAGE = `npm run sim -- [options]

  --seed N       repeat one run, and make it small when it fails
  --seeds N      run so many (1000)
  --from N       the first of them (1)
  --ops N        operations of a run (120)
  --fault NAME   cells of the fault matrix: this fault ...
  --phase NAME   ... or this phase, or both; "all" for every one
  --http         about half of the clients come over HTTP
  --eras         clients send requests that belong to no session too, with --http over HTTP
  --instances N  all clients come to N instances of a gateway, which share a store; 0 for 1 to 3
  --twice        run every seed twice: the same seed must give the same trace
  --trace        print everything that happened on every wire
  --help         print this`

const text = { type: 'string' } as const
const flag = { type: 'boolean', default: false } as const
const numbers = { seed: text, seeds: text, from: text, ops: text, instances: text }
const flags = { http: flag, eras: flag, twice: flag, trace: flag, help: { ...flag, short: 'h' } }

type Options = ReturnType<typeof readOptions>

/** @throws Error that describes the wrong option */
// oxlint-disable-next-line typescript/explicit-function-return-type -- the type of the options follows from their table
function readOptions() {
  const { values } = parseArgs({ options: { ...numbers, ...flags, fault: text, phase: text } })
  const { seed, seeds, from, ops, instances, fault, phase, http, eras, twice, trace, help } = values
  const isCells = fault !== undefined || phase !== undefined
  const several = instances === undefined ? undefined : ` --instances ${count('instances', instances)}`
  const kind = several ?? `${http ? ' --http' : ''}${eras ? ' --eras' : ''}`
  return {
    twice,
    trace,
    help,
    seed: seed === undefined ? undefined : count('seed', seed),
    from: count('from', from ?? '1'),
    seeds: count('seeds', seeds ?? (isCells ? '5' : '1000')),
    ops: count('ops', ops ?? '120'),
    cells: isCells ? { faults: named(fault, faults), phases: named(phase, phases) } : undefined,
    kind: kinds.find((each): each is RunKind => optionsOf[each] === kind) ?? 'plain',
  }
}

function count(name: string, written: string): number {
  if (!/^\d+$/.test(written)) throw new Error(`--${name} must be a number, not '${written}'`)
  return Number(written)
}

function named<T extends { readonly name: string }>(name = 'all', all: readonly T[]): readonly T[] {
  const found = name === 'all' ? all : all.filter((one) => one.name === name)
  if (found.length > 0) return found
  throw new Error(`'${name}' is none of ${all.map((one) => one.name).join(', ')}`)
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}

const run = (plan: Plan): Promise<Outcome> => inTurn(() => simulate(plan))

function show(outcome: Outcome, trace: boolean): void {
  const { requests, results, trace: all, failures } = outcome
  if (trace) for (const line of all.lines()) say(line)
  say(`${requests} requests, ${results} of them with a result; ${all.length} events, hash ${all.hash}`)
  if (failures.length > 0) say(failuresText(failures))
}

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
  say(`\n${shrunkText(small, last.trace.lines(), last.failures)}\n${failuresText(last.failures)}`)
  return false
}

async function runCells(cells: NonNullable<Options['cells']>, options: Options): Promise<boolean> {
  const { seed: only, from, seeds, trace } = options
  const [first, most] = only === undefined ? [from, seeds] : [only, 1]
  const runs = cells.faults.flatMap((fault) =>
    cells.phases.flatMap((phase) =>
      Array.from({ length: most }, (_, at) => ({ fault, phase, seed: first + at })),
    ),
  )
  let bad = 0
  for (const { fault, phase, seed } of runs) {
    const outcome = await inTurn(() => simulateCell(fault, phase, seed))
    if (trace) show(outcome, true)
    if (outcome.failures.length === 0) continue
    bad++
    say(`npm run sim -- --fault ${fault.name} --phase ${phase.name} --seed ${seed} --trace`)
    say(failuresText(outcome.failures))
  }
  say(`${runs.length} runs of cells, ${bad} failed`)
  return bad === 0
}

const SHOWN_MAX = 20
const PROGRESS_EVERY = 100

async function many({ from, seeds, ops, twice, kind }: Options): Promise<boolean> {
  // Stack traces are slow to make. A single seed has them.
  Error.stackTraceLimit = 0
  let [requests, events, failed] = [0, 0, 0]
  for (let done = 0; done < seeds; done++) {
    const seed = from + done
    const outcome = await run(drawKind(kind, seed, ops))
    requests += outcome.requests
    events += outcome.trace.length
    const isSame = !twice || (await run(drawKind(kind, seed, ops))).trace.hash === outcome.trace.hash
    const what = isSame ? failuresText(outcome.failures) : '  the same seed gave another trace'
    if (what !== '' && ++failed <= SHOWN_MAX)
      say(`npm run sim -- --seed ${seed} --ops ${ops}${optionsOf[kind]}\n${what}`)
    if ((done + 1) % PROGRESS_EVERY === 0) say(`${done + 1} of ${seeds} seeds, ${failed} failed`)
  }
  say(`${seeds} seeds of ${ops} operations, ${requests} requests, ${events} events: ${failed} failed`)
  const { user, system } = process.cpuUsage()
  say(`${((user + system) / 1e6).toFixed(1)} s of processor time`)
  return failed === 0
}

async function main(): Promise<void> {
  const options = readOptions()
  if (options.help) return say(USAGE)
  await warm()
  const { cells, seed } = options
  const isWell =
    cells !== undefined
      ? await runCells(cells, options)
      : await (seed === undefined ? many(options) : one(seed, options))
  process.exitCode = isWell ? 0 : 1
}

await main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}\n`)
  process.exitCode = 2
})
