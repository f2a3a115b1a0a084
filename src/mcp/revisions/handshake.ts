// The records of the revisions that are negotiated by handshake; each says what it changes in the one before.

import type { Revision } from './revision.js'

/** The first published revision. */
export const first: Revision = {
  version: '2024-11-05',
  form: 'bare',
  batching: false,
  argumentErrors: 'protocol',
  orphanId: 'null',
  serverRequests: ['roots/list', 'sampling/createMessage'],
  elicitationModes: false,
  tasks: false,
  versionHeader: false,
  primesStreams: false,
}

/** Adds batches, audio, tool annotations and the completions capability. */
export const second: Revision = { ...first, version: '2025-03-26', batching: true }

/** Removes batches; adds elicitation, structured results and titles. */
export const third: Revision = {
  ...second,
  version: '2025-06-18',
  batching: false,
  serverRequests: ['roots/list', 'sampling/createMessage', 'elicitation/create'],
  versionHeader: true,
}

/** Tells failed arguments to the model; adds icons, URL elicitation, tasks and sampling with tools. */
export const fourth: Revision = {
  ...third,
  version: '2025-11-25',
  argumentErrors: 'tool',
  orphanId: 'omit',
  elicitationModes: true,
  tasks: true,
  primesStreams: true,
}
