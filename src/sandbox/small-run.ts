// Runs a program inside whose whole output is wanted, and is short.

import { Buffer } from 'node:buffer'
import type { Readable } from 'node:stream'
import { type Clock, within } from '../runtime/deadline.js'
import type { GuestExit, GuestProcess, Machine } from './runtime.js'

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
