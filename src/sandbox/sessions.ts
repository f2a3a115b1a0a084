// The sessions there are: who finds which, who has to go, and when.

import type { LogSink, Runtime } from '../runtime/runtime.js'
import type { SandboxFlavor, SandboxSettings, SandboxTemplate } from '../upstream/contracts/sandbox-config.js'
import { resourceLimit, templateMismatch, wrongArgument } from './errors.js'
import { flavors } from './flavors.js'
import type { SandboxRuntime } from './runtime.js'
import { SandboxSession } from './sandbox-session.js'
import { SessionMachine } from './session-machine.js'
import { Spares } from './spares.js'

export interface SessionsParts {
  readonly settings: SandboxSettings
  readonly sandbox: SandboxRuntime
  readonly runtime: Runtime
  readonly log: LogSink
  /** A UUID, version 4. */
  readonly newId: () => string
  /** A word that nobody guesses. */
  readonly nonce: () => string
}

/** Which session a call is for. */
export interface SessionRequest {
  readonly owner: string
  readonly id: string | undefined
  readonly template: string | undefined
  readonly flavor: SandboxFlavor | undefined
  /** It begins with files that are there already, and so with no machine that was started before. */
  readonly hasFiles?: boolean
}

/** What a caller may name a session, or a pin. @throws SandboxError */
export function assertName(name: string, parameter: string): void {
  if (/^[A-Za-z0-9._-]{1,128}$/.test(name)) return
  const wanted = "must be 1 to 128 letters, digits, '.', '_' or '-'"
  throw wrongArgument(`Parameter '${parameter}' ${wanted}`, parameter)
}

/** Opens, finds and ends sessions. */
export class Sessions {
  readonly #parts: SessionsParts
  /** The one that was used last is the last. */
  readonly #sessions = new Map<string, SandboxSession>()
  readonly #stopping = new Set<Promise<void>>()
  readonly #spares: Spares

  constructor(parts: SessionsParts) {
    const { settings, runtime, log } = parts
    this.#parts = parts
    this.#spares = new Spares({
      count: settings.spareCount,
      runtime,
      log,
      make: () => this.#machine(...this.#usual),
      hasRoom: () => this.#shortage(flavors[settings.defaultFlavor].memoryMiB) === undefined,
    })
  }

  /** The session of that name, or a new one. @throws SandboxError */
  open(wanted: SessionRequest): { readonly session: SandboxSession; readonly isCreated: boolean } {
    const { id, owner, template } = wanted
    if (id !== undefined) assertName(id, 'session_id')
    const there = id === undefined ? undefined : this.find(id, owner)
    if (there === undefined) return { session: this.#create(wanted), isCreated: true }
    const has = there.facts.template
    if (template !== undefined && template !== has) throw templateMismatch(there.facts.id, has, template)
    return { session: there, isCreated: false }
  }

  /** A session that has not expired; it is used now. */
  find(id: string, owner: string): SandboxSession | undefined {
    const key = keyOf(id, owner)
    const session = this.#sessions.get(key)
    if (session === undefined) return undefined
    if (this.#isExpired(session)) {
      void this.#end(key, session)
      return undefined
    }
    session.lastAccessedMs = this.#parts.runtime.wallNow()
    this.#sessions.delete(key)
    this.#sessions.set(key, session)
    return session
  }

  /** The oldest first. */
  of(owner: string): SandboxSession[] {
    const own = [...this.#sessions.values()].filter(({ facts }) => facts.owner === owner)
    return own.sort((one, other) => one.facts.createdAtMs - other.facts.createdAtMs)
  }

  /** False where there is none of that name. */
  async stop(id: string, owner: string): Promise<boolean> {
    const key = keyOf(id, owner)
    const session = this.#sessions.get(key)
    if (session === undefined) return false
    await this.#end(key, session)
    return true
  }

  /** Ends those that nobody uses any more. */
  endExpired(): void {
    for (const [key, session] of this.#sessions) if (this.#isExpired(session)) void this.#end(key, session)
    this.#spares.refill()
  }

  async close(): Promise<void> {
    for (const [key, session] of this.#sessions) void this.#end(key, session)
    await Promise.all([this.#spares.close(), ...this.#stopping])
  }

  #isExpired({ mayGo, lastAccessedMs }: SandboxSession): boolean {
    const { settings, runtime } = this.#parts
    return mayGo && runtime.wallNow() - lastAccessedMs > settings.sessionTimeoutMs
  }

  #create({ id, owner, template: name, flavor: wanted, hasFiles }: SessionRequest): SandboxSession {
    const { settings, runtime, newId } = this.#parts
    const [usual, usualFlavor] = this.#usual
    const template = settings.templates.find((each) => each.name === name) ?? usual
    const flavor = wanted ?? usualFlavor
    const { memoryMiB } = flavors[flavor]
    this.endExpired()
    const isUsual = hasFiles !== true && template === usual && flavor === usualFlavor
    const spare = isUsual ? this.#spares.take() : undefined
    if (spare === undefined) this.#makeRoom(memoryMiB)
    const createdAtMs = runtime.wallNow()
    const facts = { id: id ?? newId(), owner, template: template.name, flavor, memoryMiB, createdAtMs }
    const session = new SandboxSession(facts, spare ?? this.#machine(template, flavor), runtime)
    this.#sessions.set(keyOf(facts.id, owner), session)
    return session
  }

  /** What a session gets that asks for nothing else; spare machines are such. */
  get #usual(): readonly [SandboxTemplate, SandboxFlavor] {
    const { templates, defaultFlavor } = this.#parts.settings
    const [template] = templates
    if (template === undefined) throw new Error('there is no template')
    return [template, defaultFlavor]
  }

  /** No other session has the files of this one, whatever it is called. */
  #machine({ language, interpreter, image, env }: SandboxTemplate, flavor: SandboxFlavor): SessionMachine {
    const { settings, sandbox, runtime: clock, newId, nonce } = this.#parts
    const { volumes, network, machineStartTimeoutMs: startTimeoutMs, outputBytesMax } = settings
    const spec = {
      sessionId: newId(),
      language,
      interpreter,
      image,
      env,
      flavor: flavors[flavor],
      volumes,
      network,
      startTimeoutMs,
    }
    return new SessionMachine({ runtime: sandbox, spec, clock, nonce, outputBytesMax })
  }

  /** Spare machines go first. */
  #makeRoom(memoryMiB: number): void {
    for (let why = this.#shortage(memoryMiB); why !== undefined; why = this.#shortage(memoryMiB))
      if (!this.#spares.giveUp()) this.#evict(why)
  }

  /** Which limit one more machine would exceed. */
  #shortage(memoryMiB: number): string | undefined {
    const { sessionsMax, memoryMiBMax = Infinity, defaultFlavor } = this.#parts.settings
    const spares = this.#spares.size
    const count = this.#sessions.size + spares
    if (count >= sessionsMax) return `Sessions limit exceeded: ${count} >= ${sessionsMax}`
    const used = [...this.#sessions.values()].map(({ facts }) => facts.memoryMiB)
    const spareMiB = spares * flavors[defaultFlavor].memoryMiB
    const needed = used.reduce((sum, each) => sum + each, spareMiB) + memoryMiB
    return needed > memoryMiBMax ? `Memory limit exceeded: ${needed} MB > ${memoryMiBMax} MB` : undefined
  }

  /** The idle session that was not used for longest. */
  #evict(why: string): void {
    const { settings, log } = this.#parts
    const [key, session] = (settings.evictsIdle && [...this.#sessions].find(([, each]) => each.mayGo)) || []
    if (key === undefined || session === undefined)
      throw resourceLimit(
        why,
        { sessions: this.#sessions.size },
        'Wait until a call of another session has ended',
      )
    log({ level: 'info', message: `session ${session.facts.id} makes room for a new one` })
    void this.#end(key, session)
  }

  #end(key: string, session: SandboxSession): Promise<void> {
    const { log } = this.#parts
    this.#sessions.delete(key)
    const ended = session.stop().catch((error: unknown) => {
      log({ level: 'error', message: `session ${session.facts.id} could not be stopped`, details: { error } })
    })
    this.#stopping.add(ended)
    return ended.finally(() => {
      this.#stopping.delete(ended)
      this.#spares.refill()
    })
  }
}

/** No id has a line feed. */
function keyOf(id: string, owner: string): string {
  return `${id}\n${owner}`
}
