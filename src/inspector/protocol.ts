// The JSON that the page of the inspector reads. Types alone, since the page is compiled for browsers.

/** One message, or bytes that are no message, as a row of the table. */
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
  /** Whether the proxy received or sent it. */
  readonly dir: 'in' | 'out'
  readonly kind: 'request' | 'notification' | 'result' | 'error' | 'batch' | 'other'
  /** The raw JSON of the id. */
  readonly id?: string
  readonly method?: string
  /** The tool, the prompt or the resource, or the name of a client that initializes. */
  readonly name?: string
  /** An error, or the result of a tool that failed. */
  readonly failed?: true
  /** The length of the message on the wire. */
  readonly bytes: number
  /** The inspector keeps only the beginning of the message. */
  readonly cut?: true
  /** The reason of each edit of the message. */
  readonly edits?: readonly string[]
  /** The beginning of the arguments, the result or the error as text; of the message where it has none of them. */
  readonly text: string
}

/** One line of the feed. */
export type FeedLine =
  | { readonly hello: Hello }
  | { readonly frames: readonly FrameRow[] }
  /** Frames from before the page was opened, in order; each batch is older than the one before. */
  | { readonly older: readonly FrameRow[] }
  /** The number of frames that the feed left out: the memory had lost them before their rows were made. */
  | { readonly skipped: number }
  /** Sent in place of frames to a page that is hidden. */
  | { readonly counts: { readonly frames: number } }

export interface Hello {
  readonly version: string
  /** Milliseconds since 1970. */
  readonly startedAt: number
  readonly redacts: boolean
}

/** A piece of a message. */
export interface Segment {
  readonly text: string
  /** The reason of the edit that removed it from the input, or wrote it to the output. */
  readonly why?: string
  /** The text replaces a secret. */
  readonly redacted?: true
}

/** One side of a forwarded message. */
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

/** A frame with its edits. */
export interface FrameView {
  readonly row: FrameRow
  /** The message that came in; absent for one that the proxy made itself, or that is no longer kept. */
  readonly input?: MessageSide
  /** The message that left; absent for one that went no further. */
  readonly output?: MessageSide
  /** The line of a transcript for `mcps-proxy replay`. */
  readonly fixture: string
  /** The number of the same frame on the other hop; absent where the inspector keeps it no more. */
  readonly other?: number
  /** Messages from before this one are no longer kept, so that the one that came in may be among them. */
  readonly isOldest?: true
}

/** One server as the page shows it. */
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
  /** Calls that the server may work on at the same time; 0 while it does not run. */
  readonly slots: number
  readonly restarts: number
  readonly pids: readonly number[]
  readonly memoryBytes?: number
  /** When its lists were last read, in milliseconds since 1970. */
  readonly listedAt?: number
  /** Differences from `mcps.lock`. */
  readonly changes?: number
  /** Items that are left out of its lists, because clients would refuse them. */
  readonly leftOut?: number
}

/** A client that is attached. */
export interface ClientRow {
  readonly schema: string
  /** The name from the client's `clientInfo`; absent before the client has sent it. */
  readonly name?: string
  readonly version?: string
  readonly revision: string
  /** The profile or server that the client sees, as in `profile:review`; absent where it sees everything. */
  readonly view?: string
  readonly tools?: number
  /** Milliseconds since 1970. */
  readonly connectedAt: number
  /** Processes of servers that run for it alone. */
  readonly processes: number
  readonly unreadBytes: number
}

/** How clients reach a schema or a profile. */
export interface Entry {
  readonly title: string
  /** The entry in the file of the client. */
  readonly server: Readonly<Record<string, unknown>>
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
  /** Calls by their time: `count` calls took at most `ms` milliseconds, and longer than the `ms` of the class before. */
  readonly times: readonly (readonly [ms: number, count: number])[]
}

/** The state of servers and clients. */
export interface StatusReport {
  /** Milliseconds since 1970. */
  readonly now: number
  readonly servers: readonly ServerRow[]
  readonly clients: readonly ClientRow[]
  readonly entries: readonly Entry[]
  readonly usage: readonly UsageRow[]
  /** The messages that are kept; their edits count among the bytes. */
  readonly kept: { readonly frames: number; readonly bytes: number }
}
