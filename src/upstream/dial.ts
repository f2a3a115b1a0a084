// A way to reach one server once: a process, later an origin.

import type { Connection } from '../jsonrpc/connection.js'

/** One reached server, before anything was said to it. */
export interface Dialed {
  readonly connection: Connection
  /** Of the child process, where there is one. */
  readonly pid: number | undefined
  /** Resolves when the server is gone, with what happened, in words. */
  readonly ended: Promise<DialEnd>
  /** The protocol version that was agreed on, where the transport says it with every message. */
  negotiated?(version: string): void
  /** Ends it in order; resolves when it is gone. */
  stop(): Promise<void>
}

export interface DialEnd {
  readonly reason: 'spawn-failed' | 'exited' | 'closed'
  readonly message: string
}

export type Dial = () => Dialed
