// The JSON that the page of the inspector reads. Only types, because the page is compiled for browsers.

/** A row of the table: one message, or bytes that are no message. */
export interface FrameRow {
  /** Unique in this process, rising. */
  readonly n: number
  /** Milliseconds since the proxy started. */
  readonly at: number
  readonly hop: 'client' | 'upstream'
  /** The server of an upstream hop. */
  readonly service?: string
  readonly schema: string
  readonly conn: number
  /** Whether the proxy received or sent the message. */
  readonly dir: 'in' | 'out'
  readonly kind: 'request' | 'notification' | 'result' | 'error' | 'batch' | 'other'
  /** The raw JSON of the id. */
  readonly id?: string
  readonly method?: string
  /** The tool, the prompt or the resource; in `initialize`, the name of the client. */
  readonly name?: string
  /** The message is an error, or the result of a tool that failed. */
  readonly failed?: true
  /** The length of the message on the wire. */
  readonly bytes: number
  /** The inspector keeps only the beginning of the message. */
  readonly cut?: true
  /** The reason of each edit of the message. */
  readonly edits?: readonly string[]
  /** The beginning of the arguments, the result or the error; in other messages, the beginning of the message. */
  readonly text: string
}

export type FeedLine =
  | { readonly frames: readonly FrameRow[] }
  /** Frames from before the page was opened, in order. Each batch is older than the previous batch. */
  | { readonly older: readonly FrameRow[] }
  /** The number of frames that the ring overwrote before the viewer got their rows. */
  | { readonly skipped: number }

export interface Segment {
  readonly text: string
  /** The reason of the edit that removed the text from the input, or wrote it to the output. */
  readonly why?: string
  /** The text replaces a secret. */
  readonly redacted?: true
}

export interface MessageSide {
  readonly hop?: 'client' | 'upstream'
  readonly service?: string
  readonly conn?: number
  /** The message as text; undefined where its bytes are not UTF-8. */
  readonly segments?: readonly Segment[]
  /** The bytes in base64; absent where they contain a secret. */
  readonly base64?: string
  readonly bytes: number
  readonly keptBytes: number
}

export interface FrameView {
  readonly row: FrameRow
  /** The incoming message; absent if the proxy made the message, or no longer keeps the incoming one. */
  readonly input?: MessageSide
  /** The outgoing message; absent if the proxy did not forward the message. */
  readonly output?: MessageSide
  /** The line of a transcript for `mcps-proxy replay`. */
  readonly fixture: string
  /** The number of the same frame on the other hop; absent if the inspector no longer keeps that frame. */
  readonly other?: number
  /** The ring has dropped earlier messages, which may include the incoming one. */
  readonly isOldest?: true
}

export interface ServerRow {
  readonly schema: string
  readonly name: string
  readonly kind: string
  readonly state: string
  readonly error?: string
  readonly revision?: string
  readonly tools: number
  readonly inFlight: number
  readonly queued: number
  /** Calls that the server may run at the same time; 0 while the server does not run. */
  readonly slots: number
  readonly restarts: number
  readonly pids: readonly number[]
  readonly memoryBytes?: number
  /** Differences from `mcps.lock`. */
  readonly changes?: number
  /** Items that the proxy removes from the lists, because clients would refuse them. */
  readonly leftOut?: number
}

export interface ClientRow {
  readonly schema: string
  /** The name in the client's `clientInfo`; absent before `initialize`. */
  readonly name?: string
  readonly version?: string
  readonly revision: string
  /** The profile or server that the client sees, such as `profile:review`; absent if the client sees everything. */
  readonly view?: string
  readonly tools?: number
  /** Milliseconds since 1970. */
  readonly connectedAt: number
  /** Server processes that run for this client alone. */
  readonly processes: number
  readonly unreadBytes: number
}

/** The calls of one client to one tool, or with one method. */
export interface UsageRow {
  readonly schema: string
  readonly server: string
  readonly what: string
  readonly client: string
  readonly view: string
  readonly calls: number
  readonly errors: number
  readonly argumentBytes: number
  readonly resultBytes: number
  /** Calls by duration: `count` calls took at most `ms` milliseconds, and longer than the previous `ms`. */
  readonly times: readonly (readonly [ms: number, count: number])[]
}

export interface StatusReport {
  /** Milliseconds since 1970. */
  readonly now: number
  readonly servers: readonly ServerRow[]
  readonly clients: readonly ClientRow[]
  readonly usage: readonly UsageRow[]
  /** The messages in the ring. The bytes include the edits. */
  readonly kept: { readonly frames: number; readonly bytes: number }
}
