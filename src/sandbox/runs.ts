// The runs of calls: their turns, the end of a run that takes too long, and programs whose whole output is needed.

import { Buffer } from 'node:buffer'
import { finished } from 'node:stream/promises'
import type PQueue from 'p-queue'
import { type Clock, within } from '../runtime/deadline.js'
import type { GuestExit, GuestProcess, Machine } from './runtime.js'

export const abortReasons = {
  cancelled: 'the call was cancelled',
  stopped: 'the session was stopped',
  late: 'the call takes too long',
} as const

/** Runs work in turn. Rejects with the signal's reason if the signal aborts first. Undefined if `waitingMax` others wait. */
export function inTurn<T>(
  queue: PQueue,
  waitingMax: number,
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> | undefined {
  if (queue.pending >= queue.concurrency && queue.size >= waitingMax && !signal.aborted) return undefined
  // If the signal of running work aborted, the queue would start the next call before that work has ended.
  const waiting = new AbortController()
  const leave = (): void => waiting.abort(signal.reason)
  signal.addEventListener('abort', leave)
  if (signal.aborted) leave()
  const run = (): Promise<T> => {
    signal.removeEventListener('abort', leave)
    return work()
  }
  return queue.add(run, { signal: waiting.signal })
}

export type RunEnd =
  | {
      readonly kind: 'done'
      readonly exitCode: number
      readonly hasArtifacts: boolean
    }
  /** The interpreter ended and lost its variables, a limit ended the program, or the program did not start. */
  | { readonly kind: 'gone'; readonly exit: GuestExit }

/** The longest time that code may take to end after SIGINT. */
const INTERRUPT_WAIT_MS = 2000
/** The longest time that processes may take to end after SIGKILL. The system may delay one. */
const KILL_WAIT_MS = 1000

export type Interruptible = Pick<GuestProcess, 'interrupt' | 'kill'>

/**
 * Waits for the end of a run, and ends it if the signal aborts.
 *
 * The run gets SIGINT first, so that variables survive. After that the service kills the processes of the call.
 * If one remains, the service stops the machine, and the result is undefined.
 */
export async function watchedEnd<T extends object>(
  run: Promise<T>,
  what: Interruptible,
  machine: Pick<Machine, 'stop'>,
  signal: AbortSignal,
  clock: Clock,
): Promise<T | undefined> {
  const aborted = new Promise<undefined>((resolve) => {
    signal.addEventListener('abort', () => resolve(undefined))
    if (signal.aborted) resolve(undefined)
  })
  const first = await Promise.race([run, aborted])
  if (first !== undefined) return first
  what.interrupt()
  const interrupted = await within(run, INTERRUPT_WAIT_MS, clock)
  if (interrupted !== undefined) return interrupted
  what.kill()
  const killed = await within(run, KILL_WAIT_MS, clock)
  if (killed === undefined) await machine.stop()
  return killed
}

export interface MachineUse {
  readonly machine: Machine
  readonly clock: Clock
  readonly signal?: AbortSignal
}

export interface SmallRun {
  readonly bytes: Buffer
  /** Whether `bytes` are only the beginning, because the output exceeds its limit. */
  readonly isCut: boolean
  readonly failure: string | undefined
}

const WHY_BYTES_MAX = 1000

/** The time limit of such a program. It ends sooner unless a program inside delays it. */
const RUN_MS_MAX = 30_000

export async function runToEnd(
  { machine, clock, signal }: MachineUse,
  [program, ...args]: readonly [string, ...string[]],
  bytesMax: number,
  input?: Uint8Array,
): Promise<SmallRun> {
  const started = machine.run({ program, args })
  const chunks: Buffer[] = []
  let bytes = 0
  let stderr = ''
  started.stdout.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes <= bytesMax) chunks.push(chunk)
    else started.kill()
  })
  started.stderr.on('data', (chunk: Buffer) => {
    stderr = `${stderr}${chunk.toString()}`.slice(0, WHY_BYTES_MAX)
  })
  signal?.addEventListener('abort', () => started.kill(), { once: true })
  started.stdin.on('error', () => undefined).end(input)
  const exit = await within(programEnd(started, clock), RUN_MS_MAX, clock)
  if (exit === undefined) started.kill()
  const isCut = bytes > bytesMax
  const ended = { bytes: Buffer.concat(chunks), isCut }
  if (isCut || exit?.code === 0) return { ...ended, failure: undefined }
  const why =
    exit === undefined ? 'it took too long' : (exit.failure ?? (stderr.trim() || `code ${exit.code}`))
  return { ...ended, failure: why }
}

/** Output arrives soon after the exit of a program. Processes that it left behind may keep its streams open for ever. */
const LAST_OUTPUT_MS = 250

/** Resolves when the program has ended and its streams have been read to their ends. */
export async function programEnd({ exited, stdout, stderr }: GuestProcess, clock: Clock): Promise<GuestExit> {
  const read = Promise.allSettled([stdout, stderr].map((each) => finished(each, { writable: false })))
  const exit = await exited
  await within(read, LAST_OUTPUT_MS, clock)
  return exit
}
