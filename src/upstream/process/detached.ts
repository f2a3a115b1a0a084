// A process that outlives this one.

import { type ChildProcess, spawn } from 'node:child_process'
import { Socket } from 'node:net'
import process from 'node:process'

/** Starts this program with these arguments and this input; resolves when it has ended. A failed start is silent. */
export function runDetached(args: readonly string[], input: string): Promise<void> {
  const child = spawnAgain(args)
  child.stdin?.on('error', () => {}).end(input)
  return new Promise((resolve) => {
    child.on('error', () => resolve())
    child.on('exit', () => resolve())
  })
}

/** A detached process that waits for the end of this one. */
export interface Successor {
  /** Lets the process begin without the end of this one. */
  begin(): void
  dismiss(): void
}

/** Starts this program with these arguments; it awaits `isSuccessor`. */
export function spawnSuccessor(args: readonly string[]): Successor {
  const { stdin } = spawnAgain(args)
  if (stdin instanceof Socket) stdin.unref()
  stdin?.on('error', () => {})
  return { begin: () => stdin?.end(), dismiss: () => stdin?.end('.') }
}

/** Resolves with true when the parent has ended or lets this process begin, with false for a dismissal. */
export async function isSuccessor(): Promise<boolean> {
  const [dismissal] = await process.stdin.toArray()
  return dismissal === undefined
}

function spawnAgain(args: readonly string[]): ChildProcess {
  const [program = ''] = process.argv.slice(1)
  const child = spawn(process.execPath, [program, ...args], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
    windowsHide: true,
  })
  child.on('error', () => {})
  child.unref()
  return child
}
