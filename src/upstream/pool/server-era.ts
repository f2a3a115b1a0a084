// What is known of the era of one server, for all its connections.
//
// A server that speaks without a handshake is asked by each connection what it is, so that a wrong verdict shows. One
// with a handshake would answer that for ever, also when it has learned better: over the network, where nobody tells of
// a new version, the verdict has its time.

import type { EraMemory } from '../../mcp/eras/leg.js'
import type { Runtime } from '../../runtime/runtime.js'

/** The form in which a server writes, for as long as that is taken to be true. */
export class ServerEra implements EraMemory {
  readonly #runtime: Pick<Runtime, 'now'>
  readonly #lastsMs: number
  readonly #wasShy: () => boolean
  #form: EraMemory['form']
  #evidence: EraMemory['evidence']
  #learnedAt = 0
  /** Hears that the server has no sessions. */
  found: () => void = () => {}
  /** Once this run has found it out, what an earlier one has does not count. */
  #shyness: { readonly is: EraMemory['shyness'] } | undefined

  /** `wasShy` says what an earlier run has found out. */
  constructor(runtime: Pick<Runtime, 'now'>, lastsMs: number, wasShy: () => boolean) {
    this.#runtime = runtime
    this.#lastsMs = lastsMs
    this.#wasShy = wasShy
  }

  get form(): EraMemory['form'] {
    return this.#runtime.now() - this.#learnedAt < this.#lastsMs ? this.#form : undefined
  }

  get evidence(): EraMemory['evidence'] {
    return this.#evidence
  }

  get shyness(): EraMemory['shyness'] {
    this.#shyness ??= { is: this.#wasShy() ? 'kept' : undefined }
    return this.#shyness.is
  }

  set shyness(shyness: EraMemory['shyness']) {
    this.#shyness = { is: shyness }
  }

  learned(form: EraMemory['form'], evidence: EraMemory['evidence']): void {
    this.#form = form
    this.#evidence = evidence
    this.#learnedAt = this.#runtime.now()
    if (form === 'typed') this.found()
  }

  forgot(): void {
    this.#form = undefined
  }
}
