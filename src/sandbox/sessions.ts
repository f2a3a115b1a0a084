// The sessions of a service: finds them, ends expired ones, and evicts idle ones at a limit.

import { randomUUID } from 'node:crypto'
import type { LogSink, Runtime } from '../runtime/runtime.js'
import {
  type SandboxFlavor,
  type SandboxSettings,
  sandboxFlavors,
} from '../upstream/contracts/sandbox-config.js'
import { resourceLimit, sandboxError, wrongArgument } from './errors.js'
import type { SandboxRuntime } from './runtime.js'
import { SandboxSession } from './sandbox-session.js'

export interface SessionRequest {
  readonly owner: string
  readonly id: string | undefined
  readonly template: string | undefined
  readonly flavor: SandboxFlavor | undefined
}

export class Sessions {
  readonly #settings: SandboxSettings
  readonly #sandbox: SandboxRuntime
  readonly #runtime: Runtime
  readonly #log: LogSink
  /** Sessions in order of use; the most recently used one is the last. */
  readonly #sessions = new Map<string, SandboxSession>()
  readonly #stopping = new Set<Promise<void>>()

  constructor(settings: SandboxSettings, sandbox: SandboxRuntime, runtime: Runtime, log: LogSink) {
    this.#settings = settings
    this.#sandbox = sandbox
    this.#runtime = runtime
    this.#log = log
  }

  open(wanted: SessionRequest): { readonly session: SandboxSession; readonly isCreated: boolean } {
    const { id, owner, template = '' } = wanted
    if (id !== undefined && !/^[A-Za-z0-9._-]{1,128}$/.test(id))
      throw wrongArgument(
        "Parameter 'session_id' must be 1 to 128 letters, digits, '.', '_' or '-'",
        'session_id',
      )
    const session = id === undefined ? undefined : this.find(id, owner)
    if (session === undefined) return { session: this.#create(wanted), isCreated: true }
    const { id: session_id, template: has } = session.facts
    if (template === '' || template === has) return { session, isCreated: false }
    throw sandboxError(
      'TEMPLATE_MISMATCH',
      `Session ${session_id} has the template '${has}' and not '${template}'`,
      { session_id, template: has, requested_template: template },
      `Call with the template '${has}'`,
      'Use another session_id for another template',
    )
  }

  /** Finds a session that has not expired, and marks it as used. */
  find(id: string, owner: string): SandboxSession | undefined {
    this.endExpired()
    const key = keyOf(id, owner)
    const session = this.#sessions.get(key)
    if (session === undefined) return undefined
    session.lastAccessedMs = this.#runtime.wallNow()
    this.#sessions.delete(key)
    this.#sessions.set(key, session)
    return session
  }

  /** The sessions of an owner, oldest first. */
  of(owner: string): SandboxSession[] {
    const own = [...this.#sessions.values()].filter(({ facts }) => facts.owner === owner)
    return own.sort((one, other) => one.facts.createdAtMs - other.facts.createdAtMs)
  }

  async stop(id: string, owner: string): Promise<boolean> {
    const session = this.#sessions.get(keyOf(id, owner))
    if (session !== undefined) await this.#end(session)
    return session !== undefined
  }

  endExpired(): void {
    const since = this.#runtime.wallNow() - this.#settings.sessionTimeoutMs
    for (const session of this.#sessions.values())
      if (session.isIdle && session.lastAccessedMs < since) void this.#end(session)
  }

  async close(): Promise<void> {
    for (const session of this.#sessions.values()) void this.#end(session)
    await Promise.all(this.#stopping)
  }

  #create({ id = randomUUID(), owner, template: name, flavor: wanted }: SessionRequest): SandboxSession {
    const { templates, defaultFlavor, outputBytesMax, volumes, network, machineStartTimeoutMs } =
      this.#settings
    const template = templates.find((each) => each.name === name) ?? templates[0]
    if (template === undefined) throw new Error('there is no template')
    const flavor = wanted ?? defaultFlavor
    this.endExpired()
    this.#makeRoom(sandboxFlavors[flavor].memoryMiB, owner)
    const facts = { id, owner, template: template.name, flavor, createdAtMs: this.#runtime.wallNow() }
    const spec = {
      ...template,
      // It keeps a new session of the same name from the files of an earlier one.
      sessionId: randomUUID(),
      sessionName: id,
      flavor: sandboxFlavors[flavor],
      volumes,
      network,
      startTimeoutMs: machineStartTimeoutMs,
    }
    const session = new SandboxSession(facts, spec, this.#sandbox, outputBytesMax, this.#runtime)
    this.#sessions.set(keyOf(id, owner), session)
    return session
  }

  #makeRoom(memoryMiB: number, owner: string): void {
    for (let why = this.#shortage(memoryMiB); why !== undefined; why = this.#shortage(memoryMiB))
      this.#evict(why, owner)
  }

  /** Names the limit that one more machine would exceed. */
  #shortage(memoryMiB: number): string | undefined {
    const { sessionsMax, memoryMiBMax = Infinity } = this.#settings
    const count = this.#sessions.size
    if (count >= sessionsMax) return `Sessions limit exceeded: ${count} >= ${sessionsMax}`
    const needed = [...this.#sessions.values()].reduce(
      (sum, { spec }) => sum + spec.flavor.memoryMiB,
      memoryMiB,
    )
    return needed > memoryMiBMax ? `Memory limit exceeded: ${needed} MB > ${memoryMiBMax} MB` : undefined
  }

  #evict(why: string, owner: string): void {
    const own = this.of(owner).length
    // An owner gives way only to one who would still have fewer.
    const share = ({ facts }: SandboxSession): number =>
      facts.owner === owner ? own : this.of(facts.owner).length - Math.min(own, 1)
    const idle = [...this.#sessions.values()].filter((each) => each.isIdle && share(each) >= Math.max(own, 1))
    const [session] = this.#settings.evictsIdle ? idle.sort((one, other) => share(other) - share(one)) : []
    if (session === undefined) {
      const wait = 'Wait until a call of another session has ended'
      throw resourceLimit(why, { sessions: this.#sessions.size }, wait)
    }
    this.#log({ level: 'info', message: `session ${session.facts.id} makes room for a new one` })
    void this.#end(session)
  }

  #end(session: SandboxSession): Promise<void> {
    const { id, owner } = session.facts
    this.#sessions.delete(keyOf(id, owner))
    const ended = session.stop().catch((error: unknown) => {
      this.#log({ level: 'error', message: `session ${id} could not be stopped`, details: { error } })
    })
    this.#stopping.add(ended)
    return ended.finally(() => this.#stopping.delete(ended))
  }
}

/** No id has a line feed, so the key is unambiguous. */
function keyOf(id: string, owner: string): string {
  return `${id}\n${owner}`
}
