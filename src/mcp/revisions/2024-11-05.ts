import type { Revision } from './revision.js'

/** The first published revision. */
export const revision: Revision = {
  version: '2024-11-05',
  batching: false,
  argumentErrors: 'protocol',
  orphanId: 'null',
  serverRequests: ['roots/list', 'sampling/createMessage'],
  versionHeader: false,
  primesStreams: false,
}
