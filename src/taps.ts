// The taps of every connection, each with its number.

import type { PeerOptions } from './jsonrpc/peer.js'
import type { Hop, WireTap } from './jsonrpc/wire-tap.js'
import type { Runtime } from './upstream/host.js'

/** Numbers connections and tells the tap what crosses them. */
export class Taps {
  readonly #tap: WireTap | undefined
  readonly #now: () => number
  readonly #startedAt: number
  #connections = 0

  constructor(tap: WireTap | undefined, runtime: Pick<Runtime, 'now'>) {
    this.#tap = tap
    this.#now = () => runtime.now()
    this.#startedAt = runtime.now()
  }

  /** What a new connection is given. */
  watch(hop: Hop['hop'], service: string | undefined): Pick<PeerOptions, 'wire' | 'forwarded'> {
    const to: Hop = { hop, service, connection: ++this.#connections }
    const { wire, forward } = this.#tap ?? {}
    return {
      ...(wire !== undefined && {
        wire: (direction, bytes) => wire({ ...to, direction, at: this.#now() - this.#startedAt, bytes }),
      }),
      ...(forward !== undefined && {
        forwarded: (input, edits, output) => forward({ to, input, edits, output }),
      }),
    }
  }
}
