// What a sandbox costs beside the programs that it runs: the command `sandbox --stdio` on bubblewrap.
//
// Each figure is a ratio to starting the interpreter, plainly or in a bare bwrap, measured in the same round.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, constants } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

import { type Figure, NOT_BUILT, type Settings, roundsOf } from './figures.js'
import { descendantsOf, shareBytes } from './process-facts.js'
import { type Aim, type Row, atMost, emptyRow } from './report.js'
import { floodRows } from './sandbox-flood.js'
import { Service, milliseconds } from './sandbox-service.js'
import { MIB } from './start.js'
import { median, percentile, roundOrder, spread } from './statistics.js'
import { proxySpec, writeConfig } from './subject.js'

const WARM_CALLS = 20
const SESSIONS = 50
const CALLS = 20
const QUICK_CALLS = 5
/** Between two measurements: what was ended is gone. */
const SETTLE_MS = 150

/** The one that sessions have; what a PATH has before it may be a script that takes longer than Python. */
const PYTHON = ['/usr/bin/python3', '-c', 'print(1)'] as const
const BWRAP = ['bwrap', '--unshare-all', '--die-with-parent', '--ro-bind', '/', '/', '--dev', '/dev'] as const

/** What a round measures, in milliseconds. */
type Measured = 'python' | 'bwrap' | 'first' | 'warm' | 'true'
type Round = Map<Measured, number>

async function run([command = '', ...args]: readonly string[]): Promise<void> {
  const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'inherit'] })
  const [code]: unknown[] = await once(child, 'exit')
  if (code !== 0) throw new Error(`${command} ended with ${String(code)}`)
}

async function medianOf(count: number, work: () => Promise<unknown>): Promise<number> {
  const values: number[] = []
  for (let n = 0; n < count; n++) values.push(await milliseconds(work))
  return median(values)
}

/** Of a session that there is not yet; it is ended again. */
async function firstResult(service: Service, name: string): Promise<number> {
  const session = { session_id: name }
  const ms = await milliseconds(() => service.call('execute_code', { ...session, code: '6 * 7' }, '42\n'))
  await service.call('stop_session', session, `Session ${name} stopped successfully`)
  return ms
}

async function oneRound(service: Service, round: number): Promise<Round> {
  const kept = { session_id: 'kept' }
  const ways: readonly (readonly [Measured, () => Promise<number>])[] = [
    ['python', () => milliseconds(() => run(PYTHON))],
    ['bwrap', () => milliseconds(() => run([...BWRAP, ...PYTHON]))],
    ['first', () => firstResult(service, `new-${round}`)],
    [
      'warm',
      () => medianOf(WARM_CALLS, () => service.call('execute_code', { ...kept, code: '6 * 7' }, '42\n')),
    ],
    ['true', () => medianOf(WARM_CALLS, () => service.call('execute_command', { ...kept, command: 'true' }))],
  ]
  const measured: Round = new Map()
  for (const [name, measure] of roundOrder(ways, round)) {
    await delay(SETTLE_MS)
    measured.set(name, await measure())
  }
  return measured
}

/** Calls of many sessions at once. */
interface Crowd {
  /** Of the calls behind the first one of each session. */
  readonly spread: number
  readonly p50: number
  /** Of each session, all its processes together. */
  readonly shareMb: number | undefined
}

async function crowd(service: Service, calls: number): Promise<Crowd> {
  const names = Array.from({ length: SESSIONS }, (_, index) => `crowd-${index}`)
  await Promise.all(
    names.map((session_id, index) =>
      service.call('execute_code', { session_id, code: `x = ${index * 1000}\nx` }, `${index * 1000}\n`),
    ),
  )
  const all = await Promise.all(
    names.map(async (session_id, index) => {
      const values: number[] = []
      for (let call = 1; call <= calls; call++) {
        const wanted = `${index * 1000 + call}\n`
        const add = { session_id, code: 'x += 1\nx' }
        values.push(await milliseconds(() => service.call('execute_code', add, wanted)))
      }
      return values
    }),
  )
  const p50 = median(all.flat())
  const shareMb = shareOfEach(service)
  await Promise.all(names.map((session_id) => service.call('stop_session', { session_id })))
  return { p50, spread: percentile(all.flat(), 0.99) / p50, shareMb }
}

/** Whatever descends from a bwrap belongs to a session. */
function shareOfEach(service: Service): number | undefined {
  const all = descendantsOf(service.pid).filter(({ name }) => name === 'bwrap')
  const pids = new Set(all.flatMap(({ pid }) => [pid, ...descendantsOf(pid).map((each) => each.pid)]))
  const shares = [...pids].map((pid) => shareBytes(pid))
  if (shares.includes(undefined)) return undefined
  return shares.reduce<number>((sum, bytes = 0) => sum + bytes, 0) / MIB / SESSIONS
}

const shown = (values: readonly number[], unit: string): string =>
  values.length === 0 ? '' : `${median(values).toFixed(2)} ${unit}`

interface RatioPlan {
  readonly figure: string
  readonly own: Measured
  readonly base: Measured
  readonly aim: Aim
}

const ratios: readonly RatioPlan[] = [
  { figure: 'first result of a new session / python3 -c', own: 'first', base: 'python', aim: atMost(8) },
  { figure: 'warm execute_code / python3 -c', own: 'warm', base: 'python', aim: atMost(0.15) },
  { figure: 'execute_command true / python3 in a bare bwrap', own: 'true', base: 'bwrap', aim: atMost(0.3) },
]

function ratioRow(rounds: readonly Round[], { figure, own, base, aim }: RatioPlan): Row {
  const valuesOf = (what: Measured): number[] => rounds.flatMap((round) => round.get(what) ?? [])
  const all = rounds.map((round) => (round.get(own) ?? Number.NaN) / (round.get(base) ?? Number.NaN))
  return {
    ...emptyRow(figure, 'sandbox, bubblewrap', aim, ''),
    relay: shown(valuesOf(base), 'ms'),
    own: shown(valuesOf(own), 'ms'),
    spread: spread(all),
  }
}

function crowdRows(crowds: readonly Crowd[], calls: number): Row[] {
  const shares = crowds.flatMap(({ shareMb }) => shareMb ?? [])
  const figure = `${SESSIONS} sessions x ${calls} calls at once, p99 / p50`
  const p50s = crowds.map(({ p50 }) => p50)
  return [
    {
      ...emptyRow(figure, 'sandbox, bubblewrap', atMost(20), ''),
      own: shown(p50s, 'ms'),
      spread: spread(crowds.map((each) => each.spread)),
    },
    {
      ...emptyRow('proportional memory of a session', 'sandbox, bubblewrap', atMost(25, 'MB'), ''),
      own: shown(shares, 'MB'),
      spread: shares.length === 0 ? undefined : spread(shares),
      spreadUnit: 'MB',
      note: 'the kernel does not say',
    },
  ]
}

/** Why nothing can be measured here. */
function obstacle({ place }: Settings): string | undefined {
  if (proxySpec(place, true) === undefined) return NOT_BUILT
  const folders = (process.env['PATH'] ?? '').split(':')
  const missing = ['bwrap', 'python3'].find(
    (name) => !folders.some((folder) => isProgram(join(folder, name))),
  )
  return missing === undefined ? undefined : `${missing} is not installed`
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

export const sandbox: Figure = async (settings) => {
  const why = obstacle(settings)
  if (why !== undefined) return ratios.map(({ figure, aim }) => emptyRow(figure, 'sandbox', aim, why))
  const { place } = settings
  const box = { type: 'sandbox', runtime: 'bubblewrap', maxSessions: SESSIONS + 2 }
  const service = new Service(place, ['sandbox', '--stdio'], writeConfig(place, 'sandbox', { box }))
  const calls = settings.quick ? QUICK_CALLS : CALLS
  const rounds: Round[] = []
  const crowds: Crowd[] = []
  try {
    await service.open()
    await oneRound(service, 0)
    for (let round = 0; round < roundsOf(settings, 20, 4); round++)
      rounds.push(await oneRound(service, round))
    for (let round = 0; round < (settings.quick ? 1 : 3); round++) crowds.push(await crowd(service, calls))
  } finally {
    await service.close()
  }
  return [
    ...ratios.map((plan) => ratioRow(rounds, plan)),
    ...crowdRows(crowds, calls),
    ...(await floodRows(place, roundsOf(settings, 5, 1))),
  ]
}
