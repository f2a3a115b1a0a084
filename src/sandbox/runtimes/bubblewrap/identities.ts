// The user that a machine has on the host.
//
// A service that runs as root gives each session a user of its own, far above those of people and programs, so that no session may
// touch the files of another or of the host. Anybody else can only give its own.

import type { Runtime } from '../../../runtime/runtime.js'
import { MachineStartError } from '../../runtime.js'

export interface HostIdentity {
  readonly uid: number
  readonly gid: number
}

/** Above the ranges that systems give to people, services, and containers. */
const FIRST_ID = 1_879_050_000

const IDS = 65_536

/** The users of the sessions there are. */
export class Identities {
  readonly #isRoot: boolean
  readonly #fixed: HostIdentity | undefined
  readonly #bySession = new Map<string, number>()
  readonly #taken = new Set<number>()
  #next: number

  /** `fixed` is for all sessions. Services beside this one begin elsewhere. */
  constructor(isRoot: boolean, fixed: HostIdentity | undefined, runtime: Pick<Runtime, 'random'>) {
    this.#isRoot = isRoot
    this.#fixed = fixed
    this.#next = Math.floor(runtime.random() * IDS)
  }

  /** Undefined: that of the service itself, which is not root. */
  of(sessionId: string): HostIdentity | undefined {
    if (!this.#isRoot) return undefined
    if (this.#fixed !== undefined) return this.#fixed
    const slot = this.#bySession.get(sessionId) ?? this.#take(sessionId)
    return { uid: FIRST_ID + slot, gid: FIRST_ID + slot }
  }

  forget(sessionId: string): void {
    const slot = this.#bySession.get(sessionId)
    if (slot === undefined) return
    this.#bySession.delete(sessionId)
    this.#taken.delete(slot)
  }

  #take(sessionId: string): number {
    if (this.#taken.size === IDS) throw new MachineStartError(`there are ${IDS} sessions already`)
    while (this.#taken.has(this.#next)) this.#next = (this.#next + 1) % IDS
    const slot = this.#next
    this.#next = (slot + 1) % IDS
    this.#taken.add(slot)
    this.#bySession.set(sessionId, slot)
    return slot
  }
}
