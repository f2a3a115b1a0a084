// The taps of every connection, each with its number.

import type { PeerOptions } from '../jsonrpc/peer.js'
import type { Hop, WireTap } from '../jsonrpc/wire-tap.js'
import type { Runtime } from '../runtime/runtime.js'

/** Numbers the connections of all schemas and tells the tap what crosses them. */
export class Taps {
  readonly #tap: WireTap | undefined
  readonly #runtime: Pick<Runtime, 'now'>
  readonly #startedAt: number
  #connections = 0

  constructor(tap: WireTap | undefined, runtime: Pick<Runtime, 'now'>) {
    this.#tap = tap
    this.#runtime = runtime
    this.#startedAt = runtime.now()
  }

  /** What a new connection is given. */
  watch(hop: Omit<Hop, 'connection'>): Pick<PeerOptions, 'wire' | 'forwarded'> {
    const to: Hop = { ...hop, connection: ++this.#connections }
    const { wire, forward } = this.#tap ?? {}
    return {
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
