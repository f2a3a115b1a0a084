// A process that outlives this one, and the streams that it gets.

import { spawn } from 'node:child_process'
import { Socket } from 'node:net'
import process from 'node:process'
import type { Readable } from 'node:stream'

/** The first descriptor behind the standard streams. */
const FIRST = 3

/** Starts this program with these arguments; the new process reads the streams from now on. A failed start is silent. */
export function spawnDetached(args: readonly string[], streams: readonly Readable[]): void {
  const [program = ''] = process.argv.slice(1)
  const child = spawn(process.execPath, [program, ...args], {
    detached: true,
    stdio: ['ignore', 'ignore', 'ignore', ...streams],
    windowsHide: true,
  })
  child.on('error', () => {})
  child.unref()
}

/** Reads the streams that this process was given, so that their writers neither wait nor fail. */
export function drainGiven(count: number): void {
  for (let at = 0; at < count; at++) {
    const stream = new Socket({ fd: FIRST + at, readable: true, writable: false })
    stream.on('error', () => {})
    stream.resume()
    stream.unref()
  }
}
