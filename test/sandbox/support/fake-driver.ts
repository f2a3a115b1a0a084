import { PassThrough } from 'node:stream'
import type { GuestExit } from '../../../src/sandbox/runtime.js'

/** A program of a session whose streams are those of the test. It ends when `exited` resolves. */
export function fakeDriver(exited: Promise<GuestExit> = new Promise(() => {})) {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()]
  return { stdin, stdout, stderr, exited, interrupt: () => {}, kill: () => {} }
}
