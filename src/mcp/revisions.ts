// The revisions that the proxy speaks, and their features as data. All other code asks a record for a feature and never
// compares dates.

export type ServerRequest = 'roots/list' | 'sampling/createMessage' | 'elicitation/create'

/** One revision of the protocol (MCP, Versioning). */
export interface Revision {
  readonly version: string
  /**
   * `stateless`: every request carries its revision and its client's capabilities in `_meta`, and every result its type.
   * `session`: the session holds them.
   */
  readonly era: 'session' | 'stateless'
  /** Whether a peer may send several messages in one array. */
  readonly hasBatches: boolean
  /** How invalid arguments are reported: a JSON-RPC error, or a tool result that the model can read. */
  readonly argumentErrors: 'protocol' | 'tool'
  /** The id of an error response to a request without a readable id. */
  readonly orphanId: 'null' | 'omit'
  readonly serverRequests: readonly ServerRequest[]
  /** Whether an elicitation has the member `mode`: a form, or a URL to visit. */
  readonly hasElicitationModes: boolean
  /** Whether a call may become a task, whose result the client fetches later. */
  readonly hasTasks: boolean
  /** The values that output schemas of tools may describe. */
  readonly outputs: 'objects' | 'any'
  /** Whether an HTTP client names its version with every request. */
  readonly hasVersionHeader: boolean
  /** Whether an HTTP event stream begins with an event without data, on which older clients fail. */
  readonly primesStreams: boolean
}

// Oldest first. Each record lists its changes to the one before.

const v2024_11_05: Revision = {
  version: '2024-11-05',
  era: 'session',
  hasBatches: false,
  argumentErrors: 'protocol',
  orphanId: 'null',
  serverRequests: ['roots/list', 'sampling/createMessage'],
  hasElicitationModes: false,
  hasTasks: false,
  outputs: 'objects',
  hasVersionHeader: false,
  primesStreams: false,
}

/** Adds batches, audio, tool annotations and the completions capability. */
const v2025_03_26: Revision = { ...v2024_11_05, version: '2025-03-26', hasBatches: true }

/** Removes batches; adds elicitation, structured results and titles. */
const v2025_06_18: Revision = {
  ...v2025_03_26,
  version: '2025-06-18',
  hasBatches: false,
  serverRequests: ['roots/list', 'sampling/createMessage', 'elicitation/create'],
  hasVersionHeader: true,
}

/** Reports invalid arguments to the model; adds icons, URL elicitation, tasks and sampling with tools. */
const v2025_11_25: Revision = {
  ...v2025_06_18,
  version: '2025-11-25',
  argumentErrors: 'tool',
  orphanId: 'omit',
  hasElicitationModes: true,
  hasTasks: true,
  primesStreams: true,
}

/** Removes the handshake, sessions and the requests of servers; every result has a type. */
const v2026_07_28: Revision = {
  ...v2025_11_25,
  version: '2026-07-28',
  era: 'stateless',
  serverRequests: [],
  hasTasks: false,
  outputs: 'any',
  primesStreams: false,
}

export const sessionRevisions: readonly Revision[] = [v2024_11_05, v2025_03_26, v2025_06_18, v2025_11_25]

/** The revision that the proxy offers to servers, and to clients that ask for an unknown one. */
export const latestSession: Revision = v2025_11_25

/** The revision of a client that never names one (MCP 2025-06-18, Transports: protocol version header). */
export const assumedRevision: Revision = v2025_03_26

export function sessionRevision(version: string | undefined): Revision | undefined {
  return sessionRevisions.find((revision) => revision.version === version)
}

export const statelessRevisions: readonly Revision[] = [v2026_07_28]

export const latestStateless: Revision = v2026_07_28

export function statelessRevision(version: string): Revision | undefined {
  return statelessRevisions.find((revision) => revision.version === version)
}
