// The tap: observes every byte of every connection, and every edit with its reason.

import type { Edit } from './splice.js'

/** Which side of the proxy a connection is on. */
export interface Hop {
  readonly hop: 'client' | 'upstream'
  /** The server's configured name; undefined towards a client. */
  readonly service: string | undefined
  /** The schema of the configuration that is served on it. */
  readonly schema: string
  /** Unique in this process. */
  readonly connection: number
}

/** Bytes as they were read or written, in order; a read or write may hold parts of messages. */
export interface WireEvent extends Hop {
  readonly direction: 'in' | 'out'
  /**
   * Exactly one message, or one batch, as HTTP and memory carry them.
   *
   * Line breaks in it are its own, but for a line feed behind it where there is one.
   */
  readonly whole: boolean
  /** Monotonic, in milliseconds since the proxy started. */
  readonly at: number
  readonly bytes: Uint8Array
}

/** One forwarded message or list item: `output` equals `splice(input, edits)`. */
export interface ForwardEvent {
  /** The connection on which the output leaves. */
  readonly to: Hop
  readonly input: Uint8Array
  readonly edits: readonly Edit[]
  readonly output: Uint8Array
}

/**
 * Watches a proxy, synchronously and without a way to change anything.
 *
 * A tap that throws closes the connection: an audit that fails must not pass traffic.
 */
export interface WireTap {
  readonly wire?: (event: WireEvent) => void
  readonly forward?: (event: ForwardEvent) => void
}

/**
 * A tap that is switched on and off while connections are open. When it fails, it is switched off, and traffic goes on.
 *
 * A stream that is open already may begin within a message.
 */
export interface LiveTap {
  /** The facts of a `WireEvent`, for which no object is made. */
  wire(of: Hop, direction: 'in' | 'out', bytes: Uint8Array, whole: boolean, at: number): void
  /** `splice(input, edits)` is what leaves; it is not put together for this. */
  forward(to: Hop, input: Uint8Array, edits: readonly Edit[]): void
  /** No more events of this connection will come. */
  ended(connection: number): void
}

/** The place of one such tap, beside the tap of the options. */
export interface TapSwitch {
  /** Shows the tap all connections from now on, in the place of the one before. */
  on(tap: LiveTap): void
  off(): void
}
