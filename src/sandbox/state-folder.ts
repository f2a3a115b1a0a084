// The folder on the host in which a sandbox service keeps the files of its sessions.
//
// Every running service has a folder of its own in it, named after its process, with one folder for each
// session. A service that was killed leaves its folder behind; the next one finds that the process
// is gone, and removes it.

import { randomBytes } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { MachineStartError } from './runtime.js'

/** The folder of one service in the state folder that it shares with others. */
export class StateFolder {
  readonly #root: string
  readonly #instance: string
  readonly #sessions = new Map<string, string>()

  constructor(root: string) {
    this.#root = root
    this.#instance = join(root, `${process.pid}-${randomBytes(4).toString('hex')}`)
  }

  get instance(): string {
    return this.#instance
  }

  /**
   * The folder of a session, made when it is not there; its name says nothing of the session's id.
   *
   * @throws MachineStartError
   */
  async session(sessionId: string): Promise<string> {
    const path = this.#sessions.get(sessionId) ?? join(this.#instance, randomBytes(8).toString('hex'))
    this.#sessions.set(sessionId, path)
    try {
      await mkdir(path, { recursive: true, mode: 0o700 })
    } catch (error) {
      throw new MachineStartError(`no folder for the session can be made in ${this.#root}: ${String(error)}`)
    }
    return path
  }

  /** Forgets a session, and gives the folder that is to be removed. */
  forget(sessionId: string): string | undefined {
    const path = this.#sessions.get(sessionId)
    this.#sessions.delete(sessionId)
    return path
  }
}
