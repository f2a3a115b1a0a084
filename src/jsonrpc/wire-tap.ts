// A tap observes every byte of every connection, and every edit with its reason.

import type { Edit } from './splice.js'

/** Which side of the proxy a connection is on. */
export interface Hop {
  readonly hop: 'client' | 'upstream'
  /** The configured name of the server; undefined towards a client. */
  readonly service: string | undefined
  /** The name of the schema that the connection serves. */
  readonly schema: string
  /** Unique in this process. */
  readonly connection: number
}

/** Bytes in the order in which they were read or written. One event may contain parts of messages. */
export interface WireEvent extends Hop {
  readonly direction: 'in' | 'out'
  /**
   * Whether the bytes are exactly one message or one batch, as HTTP and memory carry them. A line feed may
   * follow the message. Other line breaks belong to it.
   */
  readonly whole: boolean
  /** Monotonic time, in milliseconds since the proxy started. */
  readonly at: number
  readonly bytes: Uint8Array
}

/** One forwarded message or list item; `output` equals `splice(input, edits)`. */
export interface ForwardEvent {
  /** The connection on which the output leaves. */
  readonly to: Hop
  readonly input: Uint8Array
  readonly edits: readonly Edit[]
  readonly output: Uint8Array
}

/**
 * Watches a proxy synchronously, and cannot change anything. A tap that throws closes the connection, because
 * no traffic may pass an audit that fails.
 */
export interface WireTap {
  readonly wire?: (event: WireEvent) => void
  readonly forward?: (event: ForwardEvent) => void
}

/**
 * A tap that is switched on and off while connections are open. A tap that fails is switched off, and traffic
 * continues. For a stream that is already open, the first bytes may begin within a message.
 */
export interface LiveTap {
  /** Receives the facts of a `WireEvent` as parameters, so that no object is created. */
  wire(of: Hop, direction: 'in' | 'out', bytes: Uint8Array, whole: boolean, at: number): void
  /** Receives the input and the edits of a forwarded message. The output is `splice(input, edits)`. */
  forward(to: Hop, input: Uint8Array, edits: readonly Edit[]): void
  /** This connection sends no more events. */
  ended(connection: number): void
}

/** The place of one live tap, in addition to the tap of the options. */
export interface TapSwitch {
  /** Sends the events of all connections to this tap from now on. It replaces an earlier tap. */
  on(tap: LiveTap): void
  off(): void
}
