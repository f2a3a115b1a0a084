// `npm run sim`: the simulator on demand.

import { simulateCell } from './cells.js'
import { drawKind, optionOf, type RunKind, runKind } from './draw-kind.js'
import { inTurn } from './in-turn.js'
import { type Outcome, simulate } from './simulate.js'
import type { Plan } from './plan.js'
import { failuresText, shrunkText, shrink } from './shrink.js'
import { warm } from './warm.js'
import { type Fault, faults, type Phase, phases } from './matrix.js'

interface Options {
  /** One seed, which is repeated and made small when it fails. */
  readonly seed: number | undefined
  readonly from: number
  readonly seeds: number
  readonly ops: number
  /** Cells of the fault matrix in place of drawn runs. */
  readonly faults: readonly Fault[] | undefined
  readonly phases: readonly Phase[] | undefined
  readonly twice: boolean
  readonly kind: RunKind
  readonly trace: boolean
}

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

const flags: ReadonlySet<string> = new Set(['--trace', '--twice', '--http', '--eras'])

/** @throws Error that says what is wrong */
function readOptions(args: readonly string[]): Options {
  const given = new Map<string, string>()
  for (let at = 0; at < args.length; at++) {
    const [name = '', joined] = (args[at] ?? '').split('=', 2)
    if (flags.has(name)) given.set(name, 'yes')
    else given.set(name, joined ?? args[++at] ?? '')
  }
  const unknown = [...given.keys()].find((name) => !USAGE.includes(`${name} `))
  if (unknown !== undefined) throw new Error(`${unknown} is no option\n\n${USAGE}`)
  const isCells = given.has('--fault') || given.has('--phase')
  return {
    seed: given.has('--seed') ? count(given, '--seed', 1) : undefined,
    from: count(given, '--from', 1),
    seeds: count(given, '--seeds', isCells ? 5 : 1000),
    ops: count(given, '--ops', 120),
    faults: isCells ? named(given.get('--fault'), faults) : undefined,
    phases: isCells ? named(given.get('--phase'), phases) : undefined,
    twice: given.has('--twice'),
    kind: given.has('--instances') ? instancesKind(count(given, '--instances', 0)) : runKind(frontsIn(given)),
    trace: given.has('--trace'),
  }
}

function frontsIn(given: ReadonlyMap<string, string>): string {
  return ['http', 'eras'].filter((name) => given.has(`--${name}`)).join('-')
}

function instancesKind(count: number): RunKind {
  return runKind(count === 0 ? 'instances' : `instances-${count}`)
}

function count(given: ReadonlyMap<string, string>, name: string, normally: number): number {
  const text = given.get(name) ?? String(normally)
  if (!/^\d+$/.test(text)) throw new Error(`${name} must be a number, not '${text}'`)
  return Number(text)
}

function named<T extends { readonly name: string }>(
  name: string | undefined,
  all: readonly T[],
): readonly T[] {
  if (name === undefined || name === 'all') return all
  const found = all.filter((one) => one.name === name)
  if (found.length > 0) return found
  throw new Error(`'${name}' is none of ${all.map((one) => one.name).join(', ')}`)
}

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
