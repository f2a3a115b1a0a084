// The features of a protocol revision, as data.
//
// The rest of the code asks a record for a feature and never compares dates.

/** Requests that a server may send to a client. */
export type ServerRequest = 'roots/list' | 'sampling/createMessage' | 'elicitation/create'

/** One revision of the protocol (MCP, Versioning). */
export interface Revision {
  readonly version: string
  /**
   * Typed: every request carries its revision and its client's capabilities in `_meta`, and every result its type.
   * Bare: the session knows them.
   */
  readonly form: 'bare' | 'typed'
  /** Whether a peer may send several messages in one array. */
  readonly batching: boolean
  /** How failed arguments are said: a JSON-RPC error, or a tool result the model can read. */
  readonly argumentErrors: 'protocol' | 'tool'
  /** What stands for the id of an error whose request had no readable one. */
  readonly orphanId: 'null' | 'omit'
  readonly serverRequests: readonly ServerRequest[]
  /** Whether an elicitation says whether it is a form or a page to visit. */
  readonly elicitationModes: boolean
  /** Whether a call may go on as a task, which its client asks for its result later. */
  readonly tasks: boolean
  /** Whether an HTTP client names its version with every request. */
  readonly versionHeader: boolean
  /** Whether an HTTP event stream begins with an event without data; older clients choke on it. */
  readonly primesStreams: boolean
}
