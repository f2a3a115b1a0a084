// The sessions of a service: finds them, ends expired ones, and evicts idle ones at a limit.

import { randomUUID } from 'node:crypto'
import type { LogSink, Runtime } from '../runtime/runtime.js'
import {
  type SandboxFlavor,
  type SandboxSettings,
  type SandboxTemplate,
  sandboxFlavors,
} from '../upstream/contracts/sandbox-config.js'
import { type SandboxError, resourceLimit, sandboxError, wrongArgument } from './errors.js'
import type { MachineSpec, SandboxRuntime } from './runtime.js'
import { SandboxSession } from './sandbox-session.js'

export interface SessionRequest {
  readonly owner: string
  readonly id: string | undefined
  readonly template: string | undefined
  readonly flavor: SandboxFlavor | undefined
}

/** Checks the name that a client gives a session. @throws SandboxError */
function assertName(name: string, parameter: string): void {
  if (/^[A-Za-z0-9._-]{1,128}$/.test(name)) return
  const wanted = "must be 1 to 128 letters, digits, '.', '_' or '-'"
  throw wrongArgument(`Parameter '${parameter}' ${wanted}`, parameter)
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

  /** The session of that name, or a new one. @throws SandboxError */
  open(wanted: SessionRequest): { readonly session: SandboxSession; readonly isCreated: boolean } {
    const { id, owner, template } = wanted
    if (id !== undefined) assertName(id, 'session_id')
    const there = id === undefined ? undefined : this.find(id, owner)
    if (there === undefined) return { session: this.#create(wanted), isCreated: true }
    const has = there.facts.template
    if (template !== undefined && template !== has) throw mismatch(there.facts.id, has, template)
    return { session: there, isCreated: false }
  }

  /** Finds a session that has not expired, and marks it as used. */
  find(id: string, owner: string): SandboxSession | undefined {
    const key = keyOf(id, owner)
    const session = this.#sessions.get(key)
    if (session === undefined) return undefined
    if (this.#isExpired(session)) {
      void this.#end(key, session)
      return undefined
    }
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

  /** Returns false when the owner has no session of that name. */
  async stop(id: string, owner: string): Promise<boolean> {
    const key = keyOf(id, owner)
    const session = this.#sessions.get(key)
    if (session === undefined) return false
    await this.#end(key, session)
    return true
  }

  /** Ends sessions that were idle for too long. */
  endExpired(): void {
    for (const [key, session] of this.#sessions) if (this.#isExpired(session)) void this.#end(key, session)
  }

  async close(): Promise<void> {
    for (const [key, session] of this.#sessions) void this.#end(key, session)
    await Promise.all(this.#stopping)
  }

  #isExpired({ isIdle, lastAccessedMs }: SandboxSession): boolean {
    return isIdle && this.#runtime.wallNow() - lastAccessedMs > this.#settings.sessionTimeoutMs
  }

  #create({ id, owner, template: name, flavor: wanted }: SessionRequest): SandboxSession {
    const [settings, runtime] = [this.#settings, this.#runtime]
    const template = settings.templates.find((each) => each.name === name) ?? settings.templates[0]
    if (template === undefined) throw new Error('there is no template')
    const flavor = wanted ?? settings.defaultFlavor
    const { memoryMiB } = sandboxFlavors[flavor]
    this.endExpired()
    this.#makeRoom(memoryMiB, owner)
    const createdAtMs = runtime.wallNow()
    const facts = { id: id ?? randomUUID(), owner, template: template.name, flavor, memoryMiB, createdAtMs }
    const spec = this.#specOf(template, flavor, facts.id)
    const session = new SandboxSession(facts, this.#sandbox, spec, settings.outputBytesMax, runtime)
    this.#sessions.set(keyOf(facts.id, owner), session)
    return session
  }

  /** The random id keeps a new session of the same name from the files of an earlier one. */
  #specOf(
    { language, interpreter, image, env }: SandboxTemplate,
    flavor: SandboxFlavor,
    sessionName: string,
  ): MachineSpec {
    const { volumes, network, machineStartTimeoutMs: startTimeoutMs } = this.#settings
    return {
      sessionId: randomUUID(),
      sessionName,
      language,
      interpreter,
      image,
      env,
      flavor: sandboxFlavors[flavor],
      volumes,
      network,
      startTimeoutMs,
    }
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
    const used = [...this.#sessions.values()].map(({ facts }) => facts.memoryMiB)
    const needed = used.reduce((sum, each) => sum + each, 0) + memoryMiB
    return needed > memoryMiBMax ? `Memory limit exceeded: ${needed} MB > ${memoryMiBMax} MB` : undefined
  }

  /** Ends the least recently used idle session of the owner with the most sessions. */
  #evict(why: string, owner: string): void {
    const counts = new Map<string, number>()
    for (const { facts } of this.#sessions.values())
      counts.set(facts.owner, (counts.get(facts.owner) ?? 0) + 1)
    const own = counts.get(owner) ?? 0
    // An owner gives way only to one who would still have fewer.
    const room = (other: string): number =>
      other === owner ? own : (counts.get(other) ?? 0) - (own === 0 ? 0 : 1)
    const idle = [...this.#sessions].filter(
      ([, each]) => each.isIdle && room(each.facts.owner) >= Math.max(own, 1),
    )
    const most = Math.max(...idle.map(([, { facts }]) => room(facts.owner)))
    const [key, session] =
      (this.#settings.evictsIdle && idle.find(([, { facts }]) => room(facts.owner) === most)) || []
    if (key === undefined || session === undefined)
      throw resourceLimit(
        why,
        { sessions: this.#sessions.size },
        'Wait until a call of another session has ended',
      )
    this.#log({ level: 'info', message: `session ${session.facts.id} makes room for a new one` })
    void this.#end(key, session)
  }

  #end(key: string, session: SandboxSession): Promise<void> {
    this.#sessions.delete(key)
    const ended = session.stop().catch((error: unknown) => {
      this.#log({
        level: 'error',
        message: `session ${session.facts.id} could not be stopped`,
        details: { error },
      })
    })
    this.#stopping.add(ended)
    return ended.finally(() => this.#stopping.delete(ended))
  }
}

function mismatch(id: string, has: string, wanted: string): SandboxError {
  return sandboxError(
    'TEMPLATE_MISMATCH',
    `Session ${id} has the template '${has}' and not '${wanted}'`,
    { session_id: id, template: has, requested_template: wanted },
    `Call with the template '${has}'`,
    'Use another session_id for another template',
  )
}

/** No id has a line feed, so the key is unambiguous. */
function keyOf(id: string, owner: string): string {
  return `${id}\n${owner}`
}
