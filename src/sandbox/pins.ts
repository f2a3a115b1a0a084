// Sessions that are kept under a name of their own, also when the service has ended.

import type { SandboxFlavor, SandboxSettings } from '../upstream/contracts/sandbox-config.js'
import { flavorNames } from './flavors.js'
import { noSuchPin, noSuchSession, pinFailed, resourceLimit, wrongArgument } from './errors.js'
import type { FoundPin, Pin, PinnedFiles, SandboxRuntime } from './runtime.js'
import type { SandboxSession } from './sandbox-session.js'
import { type Sessions, assertName } from './sessions.js'

export interface PinsParts {
  /** The name of the sandbox in its configuration: others have pins of their own. */
  readonly name: string
  readonly settings: SandboxSettings
  readonly sandbox: SandboxRuntime
  readonly sessions: Sessions
}

/** A session with the files of a pin, and whether it began with that. */
export interface Attached {
  readonly session: SandboxSession
  readonly isCreated: boolean
}

/** Pins sessions and attaches what is pinned, one after the other. */
export class Pins {
  readonly #parts: PinsParts
  #last: Promise<unknown> = Promise.resolve()

  constructor(parts: PinsParts) {
    this.#parts = parts
  }

  /** Keeps a session under a name. @throws SandboxError */
  async pin(id: string, owner: string, name: string): Promise<SandboxSession> {
    assertName(name, 'pinned_name')
    return this.#inTurn(async () => {
      const files = this.#files()
      const session = this.#parts.sessions.find(id, owner)
      if (session === undefined) throw noSuchSession(id)
      if (session.pinnedName === name) return session
      await this.#assertFree(files, session, name)
      const { template, flavor } = session.facts
      // Its folder is there as soon as its machine is.
      await session.useMachine(async () => undefined)
      await told(files.pin(session.machineId, { ...this.#scope(owner), name, template, flavor }))
      session.pinnedName = name
      return session
    })
  }

  /** The session that has the name, or a new one with the files that were pinned. @throws SandboxError */
  attach(name: string, owner: string): Promise<Attached> {
    return this.#inTurn(async () => {
      const files = this.#files()
      const { sessions } = this.#parts
      const running = sessions.of(owner).find(({ pinnedName }) => pinnedName === name)
      const there = running && sessions.find(running.facts.id, owner)
      if (there !== undefined) return { session: there, isCreated: false }
      const pin = await this.#free(files, name, owner)
      return { session: await this.#begin(files, pin), isCreated: true }
    })
  }

  /** The files of the session go with it again. @throws SandboxError */
  async unpin(id: string, owner: string): Promise<void> {
    const session = this.#parts.sessions.find(id, owner)
    if (session?.pinnedName === undefined) return
    await told(this.#files().unpin(session.machineId))
    session.pinnedName = undefined
  }

  async #begin(files: PinnedFiles, pin: FoundPin): Promise<SandboxSession> {
    const { sessions, settings } = this.#parts
    const { name, owner, template } = pin
    const flavor: SandboxFlavor = flavorNames.find((each) => each === pin.flavor) ?? settings.defaultFlavor
    if (!settings.templates.some((each) => each.name === template))
      throw pinFailed(`'${name}' has the template '${template}', which is not configured any more`)
    const { session } = sessions.open({ id: undefined, owner, template, flavor, hasFiles: true })
    session.pinnedName = name
    try {
      if (await told(files.attach(session.machineId, pin.key))) return session
      throw pinFailed(`'${name}' is in use by another service`)
    } catch (error) {
      session.pinnedName = undefined
      await sessions.stop(session.facts.id, owner)
      throw error
    }
  }

  async #assertFree(files: PinnedFiles, { facts, pinnedName }: SandboxSession, name: string): Promise<void> {
    const own = await this.#own(files, facts.owner)
    if (own.some((pin) => pin.name === name))
      throw wrongArgument(`The name '${name}' is taken by another pinned sandbox`, 'pinned_name')
    const { sessionsMax } = this.#parts.settings
    if (pinnedName === undefined && own.length >= sessionsMax)
      throw resourceLimit(
        `Pins limit exceeded: ${own.length} >= ${sessionsMax}`,
        { pins: own.map((pin) => pin.name) },
        'Attach a pinned sandbox that is not needed any more, and end it with stop_session and unpin',
      )
  }

  /** One that no service has; what a dead service had is nobody's after a sweep. */
  async #free(files: PinnedFiles, name: string, owner: string): Promise<FoundPin> {
    const named = async (): Promise<FoundPin | undefined> =>
      (await this.#own(files, owner)).find((pin) => pin.name === name)
    let pin = await named()
    if (pin?.holder === 'another') {
      await this.#parts.sandbox.sweep()
      pin = await named()
    }
    if (pin === undefined)
      throw noSuchPin(
        name,
        (await this.#own(files, owner)).map((each) => each.name),
      )
    if (pin.holder !== 'nobody') throw pinFailed(`'${name}' is in use by another service`)
    return pin
  }

  async #own(files: PinnedFiles, ofOwner: string): Promise<FoundPin[]> {
    const { sandbox, owner } = this.#scope(ofOwner)
    return (await files.list()).filter((pin) => pin.sandbox === sandbox && pin.owner === owner)
  }

  /** What one runtime has kept is nothing for another, which may isolate less. */
  #scope(owner: string): Pick<Pin, 'sandbox' | 'owner'> {
    const { name, sandbox } = this.#parts
    return { sandbox: `${name} ${sandbox.id}`, owner }
  }

  #files(): PinnedFiles {
    const { pinned, id } = this.#parts.sandbox
    if (pinned === undefined) throw pinFailed(`the runtime ${id} keeps no files of sessions`)
    return pinned
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work)
    this.#last = done.catch(() => undefined)
    return done
  }
}

/** What the file system refuses is an answer too. */
async function told<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    throw pinFailed(error instanceof Error ? error.message : String(error))
  }
}
