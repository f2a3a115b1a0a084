// What `npm run sim -- ...` was asked for.

import { type Fault, faults, type Phase, phases } from './matrix.js'
import { type RunKind, runKind } from './draw-kind.js'

export interface Options {
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

export const USAGE = `npm run sim -- [options]

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
export function readOptions(args: readonly string[]): Options {
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
