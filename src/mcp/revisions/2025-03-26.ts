import type { Revision } from './revision.js'

/** Adds batches, audio, tool annotations and the completions capability. */
export const revision: Revision = {
  version: '2025-03-26',
  batching: true,
  argumentErrors: 'protocol',
  orphanId: 'null',
  serverRequests: ['roots/list', 'sampling/createMessage'],
  versionHeader: false,
  primesStreams: false,
}
