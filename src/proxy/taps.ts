// The taps of every connection, each with its number.

import type { PeerWatch } from '../jsonrpc/peer.js'
import type { Hop, WireTap } from '../jsonrpc/wire-tap.js'
import type { LogSink, Runtime } from '../runtime/runtime.js'
import { errorText } from '../text/error-text.js'

/** Numbers the connections of all schemas, shows the tap what crosses them, and logs faults of their owners. */
export class Taps {
  readonly #tap: WireTap | undefined
  readonly #runtime: Pick<Runtime, 'now'>
  readonly #startedAt: number
  readonly #log: LogSink
  #connections = 0

  constructor(tap: WireTap | undefined, runtime: Pick<Runtime, 'now'>, log: LogSink) {
    this.#tap = tap
    this.#log = log
    this.#runtime = runtime
    this.#startedAt = runtime.now()
  }

  /** What a new connection is given. */
  watch(hop: Omit<Hop, 'connection'>): PeerWatch {
    const to: Hop = { ...hop, connection: ++this.#connections }
    const { wire, forward } = this.#tap ?? {}
    return {
      onFault: (error) =>
        this.#log({
          level: 'error',
          message: `a fault while a connection ended: ${errorText(error)}`,
          ...(hop.service !== undefined && { service: hop.service }),
          details: { hop: hop.hop, stack: error instanceof Error ? error.stack : undefined },
        }),
      ...(wire !== undefined && {
        wire: (direction, bytes, whole) =>
          wire({ ...to, direction, at: this.#runtime.now() - this.#startedAt, bytes, whole }),
      }),
      ...(forward !== undefined && {
        forwarded: (input, edits, output) => forward({ to, input, edits, output }),
      }),
    }
  }
}
