import type { Revision } from './revision.js'

/** Tells failed arguments to the model; adds icons, URL elicitation and sampling with tools. */
export const revision: Revision = {
  version: '2025-11-25',
  batching: false,
  argumentErrors: 'tool',
  orphanId: 'omit',
  serverRequests: ['roots/list', 'sampling/createMessage', 'elicitation/create'],
  versionHeader: true,
  primesStreams: true,
}
