// The folder on the host in which sandbox services keep the files of their sessions.
//
// Every running service has one folder in it, with one folder for each session. Machines see the path of their
// folder, so the names are random. A child of the service holds a lock on a file of the folder, and ends with
// the service. A free lock means a dead service, whose folder the next service removes. The kernel or the file
// server manages the lock, so it works across boots, containers and hosts.

import { randomBytes } from 'node:crypto'
import { chmodSync, chownSync } from 'node:fs'
import { lstat, mkdir, readdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import type { Child, Runtime } from '../runtime/runtime.js'
import { errorCode, errorText } from '../text/error-text.js'
import { covers } from '../runtime/places.js'
import { systemEnvironment, systemProgram } from './host-program.js'
import { findProgram } from '../runtime/path-folders.js'
import { MachineStartError } from './runtime.js'
import type { HostIdentity } from './runtimes/identities.js'

const LOCK_FILE = 'lock'

/** The name of the lock file until the lock is taken: a free `lock` is the sign of a dead service. */
const NEW_LOCK_FILE = 'lock.new'

/** A younger folder without a lock file may belong to a service that has not created its lock yet. */
const UNLOCKED_MS_MAX = 3_600_000

const LOCK_MS = 20_000

/** The time limit for the removal of a session, which may have very many files. */
const REMOVE_MS = 600_000

/** A tree may be deeper than Node can follow, and its owner may lack rights in its folders. */
const REMOVE = 'rm -rf -- "$1" || { chmod -R u+rwX -- "$1"; exec rm -rf -- "$1"; }'

/** Prints a line when the lock is held, and ends with its stdin. */
const HOLD = 'umask 077; echo; exec cat >/dev/null'

const random = (): string => randomBytes(8).toString('hex')

export class StateFolder {
  /** The name of the service's folder in the state folder. */
  readonly name: string = random()
  readonly #root: string
  readonly #own: string
  readonly #runtime: Runtime
  readonly #sessions = new Map<string, string>()
  readonly #programs: readonly string[]
  #made: Promise<Child> | undefined

  constructor(root: string, runtime: Runtime, programs: readonly string[] = []) {
    this.#root = root
    this.#own = join(root, this.name)
    this.#runtime = runtime
    this.#programs = programs
  }

  overlaps(path: string): boolean {
    return covers(path, this.#root) || covers(this.#root, path)
  }

  /**
   * Returns the folder of a session. The first call creates it.
   *
   * `owner` is the user of the folder, if that is not the user of this process.
   *
   * @throws MachineStartError
   */
  async session(sessionId: string, owner?: HostIdentity): Promise<string> {
    const known = this.#sessions.get(sessionId)
    if (known !== undefined) return known
    const path = join(this.#own, random())
    try {
      this.#made ??= this.#make()
      await this.#made
      await mkdir(path, { mode: 0o700 })
      // No other process knows the path yet.
      if (owner !== undefined) chownSync(path, owner.uid, owner.gid)
    } catch (error) {
      this.#made = undefined
      throw new MachineStartError(
        `no folder for the session can be made: ${errorCode(error) ?? errorText(error)}; the service makes it in .mcps-proxy/sandbox of its HOME, as root in /var/lib/mcps-proxy/sandbox`,
      )
    }
    this.#sessions.set(sessionId, path)
    return path
  }

  async discard(sessionId: string): Promise<void> {
    const path = this.#sessions.get(sessionId)
    this.#sessions.delete(sessionId)
    if (path !== undefined) await this.#remove(path)
  }

  async close(): Promise<void> {
    this.#sessions.clear()
    const lock = await this.#made?.catch(() => undefined)
    this.#made = undefined
    if (lock === undefined) return
    await this.#remove(this.#own)
    lock.stdin.end()
    await lock.exited
  }

  async sweep(): Promise<void> {
    for (const name of await this.dead()) await this.#remove(join(this.#root, name))
  }

  async dead(): Promise<string[]> {
    const dead: string[] = []
    const names = await readdir(this.#root).catch(() => [])
    for (const name of names)
      if (name !== this.name && /^[\da-f]{16}$/.test(name) && (await this.#isDead(name))) dead.push(name)
    return dead
  }

  async #isDead(name: string): Promise<boolean> {
    const folder = join(this.#root, name)
    const lock = join(folder, LOCK_FILE)
    if ((await lstat(lock).catch(() => undefined)) !== undefined) {
      const [program, ...args] = this.#lockCommand(lock)
      if (program === undefined) return false
      return (await systemProgram(this.#runtime, [program, ...args, 'true'], LOCK_MS)).code === 0
    }
    const made = await lstat(folder).catch(() => undefined)
    return made !== undefined && this.#runtime.wallNow() - made.mtimeMs > UNLOCKED_MS_MAX
  }

  /** The command that runs another one while it holds a lock. Empty if the system has no program for locks. */
  #lockCommand(file: string): string[] {
    const flock = findProgram('flock', this.#programs)
    if (flock !== undefined) return [flock, '-n', file]
    const lockf = findProgram('lockf', this.#programs)
    return lockf === undefined ? [] : [lockf, '-k', '-s', '-t', '0', file]
  }

  /** Starts a child that holds the lock until its stdin ends, at the latest when this process ends. */
  async #make(): Promise<Child> {
    const isRoot = process.getuid?.() === 0
    await mkdir(this.#root, { recursive: true, mode: isRoot ? 0o711 : 0o700 })
    await mkdir(this.#own, { mode: 0o700 })
    // Users of sessions may pass through the folder but not list it. The umask may have cleared bits in `mkdir`.
    if (isRoot) chmodSync(this.#own, 0o711)
    const unlocked = join(this.#own, NEW_LOCK_FILE)
    const lock = this.#lockCommand(unlocked)
    const [command, ...args] = [...lock, '/bin/sh', '-c', HOLD]
    const child = this.#runtime.spawn({ command, args, cwd: '/', env: systemEnvironment })
    child.stdin.on('error', () => undefined)
    child.stderr.resume()
    const isHeld = await new Promise<boolean>((resolve) => {
      child.stdout.once('data', () => resolve(true)).on('error', () => undefined)
      void child.exited.then(() => resolve(false))
    })
    if (!isHeld) throw new Error('its lock is held by another process')
    if (lock.length > 0) await rename(unlocked, join(this.#own, LOCK_FILE))
    return child
  }

  async #remove(path: string): Promise<void> {
    await systemProgram(this.#runtime, ['sh', '-c', REMOVE, 'sh', path], REMOVE_MS)
  }
}
