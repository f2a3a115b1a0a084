import type { Revision } from './revision.js'

/** Removes batches; adds elicitation, structured results and titles. */
export const revision: Revision = {
  version: '2025-06-18',
  batching: false,
  argumentErrors: 'protocol',
  orphanId: 'null',
  serverRequests: ['roots/list', 'sampling/createMessage', 'elicitation/create'],
  versionHeader: true,
  primesStreams: false,
}
