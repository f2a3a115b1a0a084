// The taps of every connection, each with its number.

import type { PeerOptions } from '../jsonrpc/peer.js'
import type { Hop, WireTap } from '../jsonrpc/wire-tap.js'
import type { Runtime } from '../runtime/runtime.js'

type Clock = Pick<Runtime, 'now'>

/** What the connections of all schemas count from. */
interface Origin {
  readonly startedAt: number
  connections: number
}

/** Numbers connections and tells the tap what crosses them. */
export class Taps {
  readonly #tap: WireTap | undefined
  readonly #runtime: Clock
  readonly #schema: string
  readonly #origin: Origin

  constructor(tap: WireTap | undefined, runtime: Clock, schema: string, origin?: Origin) {
    this.#tap = tap
    this.#runtime = runtime
    this.#schema = schema
    this.#origin = origin ?? { startedAt: runtime.now(), connections: 0 }
  }

  /** Those of another schema, which count on. */
  of(schema: string): Taps {
    return new Taps(this.#tap, this.#runtime, schema, this.#origin)
  }

  /** What a new connection is given. */
  watch(hop: Hop['hop'], service: string | undefined): Pick<PeerOptions, 'wire' | 'forwarded'> {
    const origin = this.#origin
    const to: Hop = { hop, service, schema: this.#schema, connection: ++origin.connections }
    const { wire, forward } = this.#tap ?? {}
    return {
      ...(wire !== undefined && {
        wire: (direction, bytes, whole) =>
          wire({ ...to, direction, at: this.#runtime.now() - origin.startedAt, bytes, whole }),
      }),
      ...(forward !== undefined && {
        forwarded: (input, edits, output) => forward({ to, input, edits, output }),
      }),
    }
  }
}
