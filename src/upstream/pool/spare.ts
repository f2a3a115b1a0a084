// A server that was started before its first client, kept until a lane takes it.

import type { Dialed } from '../contracts/dial.js'

/** Holds one server, until it is taken or ends. */
export class Spare {
  #dialed: Dialed | undefined

  get there(): Dialed | undefined {
    return this.#dialed
  }

  keep(dialed: Dialed): void {
    this.#dialed = dialed
    void dialed.ended.then(() => {
      if (this.#dialed === dialed) this.#dialed = undefined
    })
  }

  take(): Dialed | undefined {
    const dialed = this.#dialed
    this.#dialed = undefined
    return dialed
  }
}
