// A process that outlives this one, and the streams that it gets.

import { type ChildProcess, spawn, type StdioOptions } from 'node:child_process'
import { Socket } from 'node:net'
import process from 'node:process'
import type { Readable } from 'node:stream'

/** The first descriptor behind the standard streams. */
const FIRST = 3

/** Starts this program with these arguments; the new process reads the streams from now on. A failed start is silent. */
export function spawnDetached(args: readonly string[], streams: readonly Readable[]): void {
  spawnAgain(args, ['ignore', 'ignore', 'ignore', ...streams])
}

/** The same for a process that reads this input; resolves when it has ended. */
export function runDetached(args: readonly string[], input: string): Promise<void> {
  const child = spawnAgain(args, ['pipe', 'ignore', 'ignore'])
  child.stdin?.on('error', () => {}).end(input)
  return new Promise((resolve) => {
    child.on('error', () => resolve())
    child.on('exit', () => resolve())
  })
}

/** Takes the place of the installs on the command line of the successor. */
export const SUCCESSOR = 'successor'

/** A detached process that waits for the end of this one. */
export interface Successor {
  dismiss(): void
}

/** Starts this program with these arguments; it awaits `isSuccessor`. */
export function spawnSuccessor(args: readonly string[]): Successor {
  const { stdin } = spawnAgain(args, ['pipe', 'ignore', 'ignore'])
  if (stdin instanceof Socket) stdin.unref()
  stdin?.on('error', () => {})
  return { dismiss: () => stdin?.end('.') }
}

/** Resolves when the process that started this one has ended, or has dismissed this one: then with false. */
export async function isSuccessor(): Promise<boolean> {
  const [dismissal] = await process.stdin.toArray()
  return dismissal === undefined
}

function spawnAgain(args: readonly string[], stdio: StdioOptions): ChildProcess {
  const [program = ''] = process.argv.slice(1)
  const child = spawn(process.execPath, [program, ...args], { detached: true, stdio, windowsHide: true })
  child.on('error', () => {})
  child.unref()
  return child
}

/** Reads a stream that this process was given, so that its writer neither waits nor fails; resolves when a line begins an object. */
export function drainGiven(at: number): Promise<void> {
  const stream = new Socket({ fd: FIRST + at, readable: true, writable: false })
  stream.on('error', () => {})
  stream.unref()
  return new Promise((resolve) =>
    stream.on('data', (chunk: Buffer) => {
      if (/^\{/m.test(chunk.toString('latin1'))) resolve()
    }),
  )
}
