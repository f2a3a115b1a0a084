// The runs of calls: whose turn it is, what ends one that takes too long, and programs whose whole output is wanted.

import { Buffer } from 'node:buffer'
import type { Readable } from 'node:stream'
import PQueue from 'p-queue'
import { type Clock, setDeadline, within } from '../runtime/deadline.js'
import type { GuestExit, GuestProcess, Machine } from './runtime.js'

/** Gives turns in the order of requests. */
export class Turns {
  readonly #queue: PQueue
  readonly #waitingMax: number

  constructor(atOnceMax: number, waitingMax: number) {
    this.#queue = new PQueue({ concurrency: atOnceMax })
    this.#waitingMax = waitingMax
  }

  /**
   * Runs work in turn; rejects with the signal's reason when the signal aborts first. Returns undefined when too many calls wait.
   */
  run<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> | undefined {
    const { concurrency, pending, size } = this.#queue
    if (pending >= concurrency && size >= this.#waitingMax && !signal.aborted) return undefined
    // The queue would give the turn of running work to the next call when a signal of its own aborts.
    const waiting = new AbortController()
    const leave = (): void => waiting.abort(signal.reason)
    signal.addEventListener('abort', leave)
    if (signal.aborted) leave()
    const run = (): Promise<T> => {
      signal.removeEventListener('abort', leave)
      return work()
    }
    return this.#queue.add(run, { signal: waiting.signal })
  }
}

// Ends a call that takes too long, or that the client has cancelled.
//
// The run gets SIGINT first, so that variables survive. After that the service kills the processes of the call, and at last stops
// the machine if a process remains.

/** How long code may take to end after SIGINT. */
const INTERRUPT_WAIT_MS = 2000
/** How long processes may take to end after SIGKILL; the system may hold one. */
const KILL_WAIT_MS = 1000

export type Interruptible = Pick<GuestProcess, 'interrupt' | 'kill'>

export interface RunTerms {
  readonly timeoutMs: number
  /** Aborted when the client no longer wants the result. */
  readonly signal: AbortSignal
  readonly clock: Clock
}

/** How a run ended; `value` is its result, if it ended after the interrupt. */
export type RunEnd<T> =
  | { readonly kind: 'ended'; readonly value: T }
  | { readonly kind: 'timeout'; readonly value: T | undefined }
  | { readonly kind: 'cancelled'; readonly value: T | undefined }

/** Waits for the end of a run, and ends it when it takes too long. */
export async function runWatched<T>(
  run: Promise<T>,
  what: Interruptible,
  machine: Pick<Machine, 'stop'>,
  terms: RunTerms,
): Promise<RunEnd<T>> {
  const ended = run.then((value) => ({ kind: 'ended', value }) as const)
  const limit = limitOf(terms)
  const first = await Promise.race([ended, limit.reached]).finally(() => limit.cancel())
  if (first.kind === 'ended') return first
  what.interrupt()
  const asked = await within(ended, INTERRUPT_WAIT_MS, terms.clock)
  if (asked !== undefined) return { ...first, value: asked.value }
  what.kill()
  const killed = await within(ended, KILL_WAIT_MS, terms.clock)
  if (killed === undefined) await machine.stop()
  return { ...first, value: killed?.value }
}

/** Resolves when the time of a run is over, or the client no longer wants its result. */
function limitOf({ timeoutMs, signal, clock }: RunTerms): {
  readonly reached: Promise<{ readonly kind: 'timeout' | 'cancelled' }>
  cancel(): void
} {
  const releases: (() => void)[] = []
  const reached = new Promise<{ readonly kind: 'timeout' | 'cancelled' }>((resolve) => {
    const timer = setDeadline(clock, timeoutMs, () => resolve({ kind: 'timeout' }))
    const abort = (): void => resolve({ kind: 'cancelled' })
    signal.addEventListener('abort', abort)
    if (signal.aborted) abort()
    releases.push(
      () => timer.cancel(),
      () => signal.removeEventListener('abort', abort),
    )
  })
  return { reached, cancel: () => releases.forEach((release) => release()) }
}

/**
 * Runs `use` with a signal that aborts when one of both aborts.
 *
 * `AbortSignal.any` would leave an entry for every call in the signal that lives longer.
 */
export async function withEither<T>(
  one: AbortSignal,
  other: AbortSignal,
  use: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const either = new AbortController()
  const abort = (): void => either.abort()
  const signals = [one, other]
  for (const signal of signals) signal.addEventListener('abort', abort)
  if (signals.some(({ aborted }) => aborted)) abort()
  try {
    return await use(either.signal)
  } finally {
    for (const signal of signals) signal.removeEventListener('abort', abort)
  }
}

// Runs a program inside whose whole output is wanted, and is short.

/** The machine in which a program runs, its clock, and the signal that cancels the run. */
export interface MachineUse {
  readonly machine: Machine
  readonly clock: Clock
  readonly signal?: AbortSignal
}

export type SmallRun =
  | { readonly kind: 'read'; readonly bytes: Buffer }
  | { readonly kind: 'failed'; readonly code: number | undefined; readonly why: string }
  | {
      readonly kind: 'too-long'
      /** At most as many bytes as may be read. */
      readonly beginning: Buffer
    }
  | { readonly kind: 'late' }

/** The most bytes of stderr that an error shows. */
const WHY_BYTES_MAX = 1000

/** The time limit of such a program; it ends sooner unless a program inside makes it wait. */
const RUN_MS_MAX = 30_000

/** Runs a program with `input` for its stdin. */
export async function readAll(
  { machine, clock, signal }: MachineUse,
  [program, ...args]: readonly [string, ...string[]],
  bytesMax: number,
  input?: Uint8Array,
): Promise<SmallRun> {
  const started = machine.run({ program, args })
  const read = reading(started, bytesMax)
  const kill = (): void => started.kill()
  signal?.addEventListener('abort', kill, { once: true })
  started.stdin.on('error', () => undefined)
  started.stdin.end(input)
  const exit = await within(programEnd(started, clock), RUN_MS_MAX, clock)
  signal?.removeEventListener('abort', kill)
  if (exit === undefined) {
    started.kill()
    return { kind: 'late' }
  }
  if (read.bytes > bytesMax) return { kind: 'too-long', beginning: Buffer.concat(read.chunks) }
  if (exit.code === 0) return { kind: 'read', bytes: Buffer.concat(read.chunks) }
  return { kind: 'failed', code: exit.code, why: exit.failure ?? read.why.toString('utf8').trim() }
}

interface Reading {
  readonly chunks: Buffer[]
  bytes: number
  why: Buffer
}

function reading(started: GuestProcess, bytesMax: number): Reading {
  const read: Reading = { chunks: [], bytes: 0, why: Buffer.alloc(0) }
  started.stdout.on('data', (chunk: Buffer) => {
    read.bytes += chunk.length
    if (read.bytes <= bytesMax) read.chunks.push(chunk)
    else started.kill()
  })
  started.stderr.on('data', (chunk: Buffer) => {
    read.why = Buffer.concat([read.why, chunk]).subarray(0, WHY_BYTES_MAX)
  })
  return read
}

/** Output arrives soon after the exit of a program; processes that it left behind may hold its streams open for ever. */
const LAST_OUTPUT_MS = 250

/** Resolves when the program has ended and its streams have been read to their ends. */
export async function programEnd({ exited, stdout, stderr }: GuestProcess, clock: Clock): Promise<GuestExit> {
  const read = Promise.all([endOf(stdout), endOf(stderr)])
  const exit = await exited
  await within(read, LAST_OUTPUT_MS, clock)
  return exit
}

function endOf(stream: Readable): Promise<void> {
  return new Promise((resolve) => {
    if (stream.readableEnded || stream.destroyed) resolve()
    stream.once('end', resolve).once('close', resolve)
  })
}
