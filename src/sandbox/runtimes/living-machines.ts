// The machines of one runtime that have not ended, by their sessions.

import type { Machine } from '../runtime.js'

/** Stops them, all or those of one session. */
export class LivingMachines {
  readonly #sessions = new Map<Machine, string>()

  add(machine: Machine, sessionId: string): void {
    this.#sessions.set(machine, sessionId)
    void machine.ended.then(() => this.#sessions.delete(machine))
  }

  async stopOf(sessionId: string): Promise<void> {
    const alive = [...this.#sessions].filter(([, session]) => session === sessionId)
    await Promise.all(alive.map(([machine]) => machine.stop()))
  }

  async stopAll(): Promise<void> {
    await Promise.all([...this.#sessions.keys()].map((machine) => machine.stop()))
  }
}
