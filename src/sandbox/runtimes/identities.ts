// The user of a machine on the host.
//
// A service that runs as root gives each session a separate user, with a number far above those of people and programs, so that
// no session can touch the files of another or of the host. Any other service runs its sessions as its user.

import { readFileSync } from 'node:fs'
import process from 'node:process'
import type { Runtime } from '../../runtime/runtime.js'
import { MachineStartError } from '../runtime.js'

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

  /** `fixed` is the user of all sessions. The first number is random, so that services on the same host use different ones. */
  constructor(isRoot: boolean, fixed: HostIdentity | undefined, runtime: Pick<Runtime, 'random'>) {
    this.#isRoot = isRoot
    this.#fixed = fixed
    this.#next = Math.floor(runtime.random() * IDS)
  }

  /** Returns undefined for the user of the service itself, when that is not root. */
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
    if (taken.size === IDS) throw new MachineStartError(`there are ${IDS} sessions already`)
    while (taken.has(this.#next)) this.#next = (this.#next + 1) % IDS
    const slot = this.#next
    this.#next = (slot + 1) % IDS
    this.#bySession.set(sessionId, slot)
    return slot
  }
}

export interface HostUsers {
  readonly passwd: string
  readonly group: string
  readonly own: HostIdentity | undefined
}

const ROOT = 0
/** The next number means no user (`chown(2)`). */
const ID_MAX = 4_294_967_294

/**
 * The user and the group that `user`, `user:group` or their numbers mean; a text that explains why none can be used.
 *
 * Undefined means the user and group of this process, which cannot switch to others.
 */
export function hostIdentity(
  runAs: string,
  users: HostUsers = systemUsers(),
): HostIdentity | string | undefined {
  const { own } = users
  if (own === undefined) return 'sets a user, which this system has not'
  const found = named(runAs, users)
  if (typeof found === 'string') return found
  const { uid, gid } = found
  if (uid === ROOT || gid === ROOT)
    return `is ${runAs}, and code of clients never runs as root or in its group`
  if (own.uid === ROOT) return found
  return uid === own.uid && gid === own.gid
    ? undefined
    : `is ${runAs}, and a service of the user ${own.uid} cannot give its sessions another one than ${own.uid}:${own.gid}`
}

function named(runAs: string, { passwd, group }: HostUsers): HostIdentity | string {
  const [user = '', ownGroup] = runAs.split(':')
  const entry = linesOf(passwd).find(([name, , uid]) => name === user || uid === user)
  const uid = idOf(user) ?? idOf(entry?.[2])
  const groupEntry = linesOf(group).find(([name]) => name === ownGroup)
  const gid = ownGroup === undefined ? idOf(entry?.[3]) : (idOf(ownGroup) ?? idOf(groupEntry?.[2]))
  return uid === undefined || gid === undefined
    ? `is ${runAs}, whose user or group is not in /etc/passwd or /etc/group: write numbers, uid:gid`
    : { uid, gid }
}

function systemUsers(): HostUsers {
  const [uid, gid] = [process.getuid?.(), process.getgid?.()]
  const own = uid === undefined || gid === undefined ? undefined : { uid, gid }
  return { passwd: textOf('/etc/passwd'), group: textOf('/etc/group'), own }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

function linesOf(text: string): string[][] {
  return text.split('\n').map((line) => line.split(':'))
}

function idOf(text: string | undefined): number | undefined {
  if (text === undefined || !/^\d{1,10}$/.test(text)) return undefined
  return Number(text) > ID_MAX ? undefined : Number(text)
}
