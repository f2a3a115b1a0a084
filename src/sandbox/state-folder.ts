// The folder on the host in which sandbox services keep the files of their sessions.
//
// Every running service has one folder in it, with one folder for each session. Machines see the path of their folder, so the
// names are random. A child of the service holds a lock on a file of the folder, and ends with the service. A folder whose lock
// is free belongs to a dead service, and the next service removes it. The kernel or the file server manages the lock, so it works
// across boots, containers and hosts.

import { randomBytes } from 'node:crypto'
import { chmodSync, chownSync } from 'node:fs'
import { lstat, mkdir, readdir, rename, stat } from 'node:fs/promises'
import { join, sep } from 'node:path'
import process from 'node:process'
import type { Child, Runtime } from '../runtime/runtime.js'
import { errorCode, errorText } from '../text/error-text.js'
import { covers } from '../runtime/places.js'
import { programOutput, systemEnvironment, systemProgram } from './host-program.js'
import { findProgram } from '../runtime/path-folders.js'
import { MachineStartError } from './runtime.js'
import type { HostIdentity } from './runtimes/identities.js'

const LOCK_FILE = 'lock'

/** The name of the lock until it is held: another service takes a free lock for that of a dead service. */
const NEW_LOCK_FILE = 'lock.new'

/** A younger folder without a lock file may belong to a service that has not created its lock yet. */
const UNLOCKED_MS_MAX = 3_600_000

const LOCK_MS = 20_000

/** The time limit for the removal of a session, which may have very many files. */
const REMOVE_MS = 600_000

const random = (): string => randomBytes(8).toString('hex')

/** The folder of one service in the state folder that it shares with others. */
export class StateFolder {
  readonly #root: string
  readonly #runtime: Runtime
  readonly #name = random()
  readonly #sessions = new Map<string, string>()
  readonly #programs: readonly string[]
  #made: Promise<Child> | undefined

  /** `programs` are folders of programs, in addition to those of the system. */
  constructor(root: string, runtime: Runtime, programs: readonly string[] = []) {
    this.#root = root
    this.#runtime = runtime
    this.#programs = programs
  }

  /** The name of the service's folder in the state folder. */
  get name(): string {
    return this.#name
  }

  /** Whether a path lies in the state folder, or the state folder lies in the path. */
  overlaps(path: string): boolean {
    return covers(path, this.#root) || covers(this.#root, path)
  }

  get #instance(): string {
    return join(this.#root, this.#name)
  }

  /**
   * The folder of a session; the first call creates it.
   *
   * `owner` is the user of the folder, when it differs from that of this process.
   *
   * @throws MachineStartError
   */
  async session(sessionId: string, owner?: HostIdentity): Promise<string> {
    const known = this.#sessions.get(sessionId)
    if (known !== undefined) return known
    const path = join(this.#instance, random())
    const closed = owner === undefined ? undefined : await this.#closedPlace()
    if (closed !== undefined) {
      throw new MachineStartError(
        `the users of sessions cannot pass through ${closed}: run chmod o+x ${closed}, or choose another state folder`,
      )
    }
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

  /** Removes the files of a session whose processes have ended. */
  async discard(sessionId: string): Promise<void> {
    const path = this.#sessions.get(sessionId)
    this.#sessions.delete(sessionId)
    if (path !== undefined) await this.#remove(path)
  }

  /** Removes all folders of this service. */
  async close(): Promise<void> {
    this.#sessions.clear()
    const lock = await this.#made?.catch(() => undefined)
    this.#made = undefined
    if (lock === undefined) return
    await this.#remove(this.#instance)
    lock.stdin.end()
    await lock.exited
  }

  /** Removes the folders of dead services. */
  async sweep(): Promise<void> {
    for (const name of await this.dead()) await this.#remove(join(this.#root, name))
  }

  /** The names of dead services whose folders remain. */
  async dead(): Promise<string[]> {
    const dead: string[] = []
    const names = await readdir(this.#root).catch(() => [])
    for (const name of names)
      if (name !== this.#name && /^[\da-f]{16}$/.test(name) && (await this.#isDead(name))) dead.push(name)
    return dead
  }

  async #isDead(name: string): Promise<boolean> {
    const folder = join(this.#root, name)
    const lock = join(folder, LOCK_FILE)
    const isLockable = (await lstat(lock).catch(() => undefined)) !== undefined
    if (!isLockable) {
      const made = await lstat(folder).catch(() => undefined)
      return made !== undefined && this.#runtime.wallNow() - made.mtimeMs > UNLOCKED_MS_MAX
    }
    const [command, ...args] = this.#locked(lock, ['true'])
    if (command === undefined) return false
    return (await programOutput(this.#runtime, { command, args, cwd: '/', env: {} }, LOCK_MS)).code === 0
  }

  /** The command that runs another one while it holds a lock; empty when the system has no program for locks. */
  #locked(file: string, command: readonly string[]): string[] {
    const flock = findProgram('flock', this.#programs)
    if (flock !== undefined) return [flock, '-n', file, ...command]
    const lockf = findProgram('lockf', this.#programs)
    return lockf === undefined ? [] : [lockf, '-k', '-s', '-t', '0', file, ...command]
  }

  /** The first folder on the path to the sessions that does not let other users pass. */
  async #closedPlace(): Promise<string | undefined> {
    const parts = this.#root.split(sep)
    for (let length = 2; length <= parts.length; length++) {
      const path = parts.slice(0, length).join(sep)
      const stats = await stat(path).catch(() => undefined)
      if (stats !== undefined && (stats.mode & 0o001) === 0) return path
    }
    return undefined
  }

  async #make(): Promise<Child> {
    const isRoot = process.getuid?.() === 0
    await mkdir(this.#root, { recursive: true, mode: isRoot ? 0o711 : 0o700 })
    await mkdir(this.#instance, { mode: 0o700 })
    // Users of sessions may pass through the folder and list nothing. `mkdir` may have cleared bits by the mask of this process.
    if (isRoot) chmodSync(this.#instance, 0o711)
    return this.#lock()
  }

  /** Starts a child that holds the lock until its stdin ends, which is at the latest when this process ends. */
  async #lock(): Promise<Child> {
    const waiting = ['/bin/sh', '-c', 'umask 077; echo; exec cat >/dev/null']
    const unlocked = join(this.#instance, NEW_LOCK_FILE)
    const locked = this.#locked(unlocked, waiting)
    const [command = '/bin/sh', ...args] = locked
    const child = this.#runtime.spawn({
      command,
      args: locked.length > 0 ? args : waiting.slice(1),
      cwd: '/',
      env: systemEnvironment,
    })
    child.stdin.on('error', () => undefined)
    child.stderr.resume()
    const isHeld = new Promise<boolean>((resolve) => {
      child.stdout.once('data', () => resolve(true)).on('error', () => undefined)
      void child.exited.then(() => resolve(false))
    })
    if (await isHeld) {
      if (locked.length > 0) await rename(unlocked, join(this.#instance, LOCK_FILE))
      return child
    }
    throw new Error('its lock is held by another process')
  }

  /** Runs `rm`: a tree may be deeper than Node can follow, and folders may be closed to their owner. */
  async #remove(path: string): Promise<void> {
    if ((await this.#run(['rm', '-rf', '--', path])) === 0) return
    await this.#run(['chmod', '-R', 'u+rwX', '--', path])
    await this.#run(['rm', '-rf', '--', path])
  }

  async #run(command: readonly [string, ...string[]]): Promise<number | undefined> {
    return (await systemProgram(this.#runtime, command, REMOVE_MS)).code
  }
}
