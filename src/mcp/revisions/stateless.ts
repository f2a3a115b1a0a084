// The records of the revisions without a handshake, in which every request says what it speaks.

import { fourth } from './handshake.js'
import type { Revision } from './revision.js'

/** Removes the handshake, sessions and the requests of servers; every result has a type. */
export const fifth: Revision = {
  ...fourth,
  version: '2026-07-28',
  form: 'typed',
  serverRequests: [],
  tasks: false,
  primesStreams: false,
}
