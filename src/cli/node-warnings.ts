// Warnings of Node and of packages, as log lines instead of bare text on stderr.
//
// Whoever reads our stderr reads a log; a warning may hold an address, and belongs
// through what takes secrets out of it. One that was silenced (--no-warnings) stays so.

import process from 'node:process'
import type { LogSink } from '../log/log.js'

/** A look for Google's metadata server that finds none; what follows from that is said by whoever needed it. */
const EXPECTED = 'MetadataLookupWarning'

/** From now on the process's warnings go there. */
export function logNodeWarnings(log: LogSink): void {
  if (process.listenerCount('warning') === 0) return
  process.removeAllListeners('warning')
  process.on('warning', ({ name, message }) =>
    log({ level: name === EXPECTED ? 'debug' : 'warn', message: `${name}: ${message}` }),
  )
}
