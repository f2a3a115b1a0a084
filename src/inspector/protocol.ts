// The JSON that the page of the inspector reads. Types alone, since the page is compiled for browsers.

/** One message, or one piece of bytes that is none, as a row of the table. */
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
  /** From the proxy's point of view. */
  readonly dir: 'in' | 'out'
  readonly kind: 'request' | 'notification' | 'result' | 'error' | 'batch' | 'other'
  /** As it is written. */
  readonly id?: string
  readonly method?: string
  /** The tool, the prompt or the resource, or the name of a client that initializes. */
  readonly name?: string
  /** An error, or the result of a tool that failed. */
  readonly failed?: true
  /** On the wire. */
  readonly bytes: number
  /** Only the beginning is kept. */
  readonly cut?: true
  /** The reasons of its edits. */
  readonly edits?: readonly string[]
  /** The beginning of the text. */
  readonly text: string
}

/** One line of the feed. */
export type FeedLine =
  | { readonly hello: Hello }
  | { readonly frames: readonly FrameRow[] }
  /** So many frames were not shown, because the viewer was too slow for them. */
  | { readonly skipped: number }
  /** For a page that is not looked at. */
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
  /** It stands in the place of a secret. */
  readonly redacted?: true
}

/** One side of a forwarded message. */
export interface MessageSide {
  readonly hop?: 'client' | 'upstream'
  readonly service?: string
  readonly conn?: number
  /** UTF-8 text; undefined for bytes that are none. */
  readonly segments?: readonly Segment[]
  /** The bytes, in base64, where nothing of them is redacted. */
  readonly base64?: string
  readonly bytes: number
  readonly keptBytes: number
}

/** A frame with its edits. */
export interface FrameView {
  readonly row: FrameRow
  /** The message that came in; absent for one that the proxy made itself. */
  readonly input?: MessageSide
  /** The message that left; absent for one that went no further. */
  readonly output?: MessageSide
  /** The line of a transcript for `mcps-proxy replay`. */
  readonly fixture: string
  /** The number of the frame on the other hop, where it is still kept. */
  readonly other?: number
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
  /** Calls that it may work on at the same time; 0 while it does not run. */
  readonly slots: number
  readonly restarts: number
  readonly pids: readonly number[]
  readonly memoryBytes?: number
  /** When its lists were last read, in milliseconds since 1970. */
  readonly listedAt?: number
  /** Differences from `mcps.lock`. */
  readonly changes?: number
}

/** A client that is attached. */
export interface ClientRow {
  readonly schema: string
  /** As it says of itself; absent for one that has said nothing yet. */
  readonly name?: string
  readonly version?: string
  readonly revision: string
  /** Its view, as in `profile:review`; absent is everything. */
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
  /** How many took no longer than so many milliseconds, and longer than the class before. */
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
  /** The messages and edits that are kept. */
  readonly kept: { readonly entries: number; readonly bytes: number }
}
