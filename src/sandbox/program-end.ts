// The end of a program inside: its exit, and all that it wrote.

import type { Readable } from 'node:stream'
import type { Clock } from '../runtime/deadline.js'
import { within } from '../runtime/within.js'
import type { GuestExit, GuestProcess } from './runtime.js'

/** What a program wrote is there soon after its exit; who it left behind may hold its streams for ever. */
const LAST_OUTPUT_MS = 250

/** Resolves when the program has ended and its streams have been read, by whoever reads them. */
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
