// The user of a machine on the host.
//
// A service that runs as root gives each session a separate user, whose number is far above those of people and
// programs. So no session can access the files of another or of the host. Any other service runs its sessions
// as its own user.

import process from 'node:process'
import type { Runtime } from '../../runtime/runtime.js'
import { RuntimeUnusable } from '../runtime.js'

export interface HostIdentity {
  readonly uid: number
  readonly gid: number
}

/** A number above the ranges that systems use for people, services and containers. */
const FIRST_ID = 1_879_050_000

const IDS = 65_536

export class Identities {
  readonly #isRoot: boolean
  readonly #fixed: HostIdentity | undefined
  readonly #bySession = new Map<string, number>()
  #next: number

  /** `fixed` is the user of all sessions. The first number is random, so that services on one host use different ones. */
  constructor(isRoot: boolean, fixed: HostIdentity | undefined, runtime: Pick<Runtime, 'random'>) {
    this.#isRoot = isRoot
    this.#fixed = fixed
    this.#next = Math.floor(runtime.random() * IDS)
  }

  /** Returns undefined for the user of the service itself, if that is not root. */
  of(sessionId: string): HostIdentity | undefined {
    if (!this.#isRoot) return undefined
    if (this.#fixed !== undefined) return this.#fixed
    const id = FIRST_ID + (this.#bySession.get(sessionId) ?? this.#take(sessionId))
    return { uid: id, gid: id }
  }

  forget(sessionId: string): void {
    this.#bySession.delete(sessionId)
  }

  #take(sessionId: string): number {
    const taken = new Set(this.#bySession.values())
    // There are more numbers than sessions, so the loop ends.
    do this.#next = (this.#next + 1) % IDS
    while (taken.has(this.#next))
    this.#bySession.set(sessionId, this.#next)
    return this.#next
  }
}

/** The next number means no user (`chown(2)`). */
const ID_MAX = 4_294_967_294

/**
 * Parses `uid:gid`. Undefined means the user and group of this process, which cannot switch to others.
 *
 * @throws RuntimeUnusable
 */
export function hostIdentity(
  runAs: string,
  own: HostIdentity | undefined = ownIdentity(),
): HostIdentity | undefined {
  const [uid = 0, gid = 0] = runAs.split(':').map(Number)
  const isRight = [uid, gid].every((id) => Number.isInteger(id) && id > 0 && id <= ID_MAX)
  if (isRight && own?.uid === 0) return { uid, gid }
  if (isRight && uid === own?.uid && gid === own.gid) return undefined
  const why = !isRight
    ? 'it must be two numbers, uid:gid, and code of clients never runs as root or in its group'
    : own === undefined
      ? 'this system has no such users'
      : `a service of the user ${own.uid} cannot give its sessions another one than ${own.uid}:${own.gid}`
  throw new RuntimeUnusable(
    `runAs is ${runAs}: ${why}`,
    'set runAs to the owner of the volumes, or leave it out',
  )
}

function ownIdentity(): HostIdentity | undefined {
  const [uid, gid] = [process.getuid?.(), process.getgid?.()]
  return uid === undefined || gid === undefined ? undefined : { uid, gid }
}
