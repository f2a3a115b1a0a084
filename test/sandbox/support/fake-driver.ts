import { PassThrough } from 'node:stream'
import type { GuestExit } from '../../../src/sandbox/runtime.js'

/** A program of a session whose streams are those of the test. */
export interface FakeDriver {
  readonly stdin: PassThrough
  readonly stdout: PassThrough
  readonly stderr: PassThrough
  readonly exited: Promise<GuestExit>
  interrupt(): void
  kill(): void
}

/** It ends when `exited` resolves, which is never where the test does not say. */
export function fakeDriver(exited: Promise<GuestExit> = new Promise(() => {})): FakeDriver {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()]
  return { stdin, stdout, stderr, exited, interrupt: () => {}, kill: () => {} }
}
