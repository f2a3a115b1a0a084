// The folder on the host in which sandbox services keep the files of their sessions.
//
// Every running service has a folder of its own in it, with one folder for each session. Machines see the path of
// theirs, so no name says anything. A service that was killed leaves its folder behind; the next one finds that its
// owner is gone, and removes it.

import { randomBytes } from 'node:crypto'
import { chmodSync, chownSync } from 'node:fs'
import { lstat, mkdir, readFile, readdir, stat, utimes, writeFile } from 'node:fs/promises'
import { join, sep } from 'node:path'
import process from 'node:process'
import type { Runtime } from '../runtime/runtime.js'
import { PinnedFolders } from './pinned-folders.js'
import { ownerOf } from './process-owner.js'
import { MachineStartError, type PinnedFiles } from './runtime.js'
import { covers } from './volumes.js'

/** Who has a folder: process, its start, the boot, and the namespace in which the number of the process counts. */
const OWNER_FILE = 'owner'

/** The owner of a folder in another namespace is not seen; it touches its folder at every sweep. */
const SILENT_MS_MAX = 24 * 3600 * 1000

const random = (): string => randomBytes(8).toString('hex')

/** A user of the host. */
interface FolderOwner {
  readonly uid: number
  readonly gid: number
}

/** The folder of one service in the state folder that it shares with others. */
export class StateFolder {
  readonly #root: string
  readonly #runtime: Runtime
  readonly #name = random()
  readonly #sessions = new Map<string, string>()
  readonly #pins: PinnedFolders
  #made: Promise<void> | undefined

  constructor(root: string, runtime: Runtime) {
    this.#root = root
    this.#runtime = runtime
    this.#pins = new PinnedFolders(root, this.#name)
  }

  /** Of the service in the state folder. */
  get name(): string {
    return this.#name
  }

  /** Whether a path lies in the state folder, or that in it. */
  overlaps(path: string): boolean {
    return covers(path, this.#root) || covers(this.#root, path)
  }

  get #instance(): string {
    return join(this.#root, this.#name)
  }

  /**
   * The folder of a session, made when it is not there.
   *
   * `owner` is whose it shall be, when it is not that of this process.
   *
   * @throws MachineStartError
   */
  async session(sessionId: string, owner?: FolderOwner): Promise<string> {
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
      // Nobody else has got there yet.
      if (owner !== undefined) chownSync(path, owner.uid, owner.gid)
    } catch (error) {
      this.#made = undefined
      throw new MachineStartError(`no folder for the session can be made in ${this.#root}: ${String(error)}`)
    }
    this.#sessions.set(sessionId, path)
    return path
  }

  /** Removes the files of a session, unless they are pinned; its processes have ended. */
  async discard(sessionId: string): Promise<void> {
    const path = this.#sessions.get(sessionId)
    this.#sessions.delete(sessionId)
    if (path !== undefined && !(await this.#pins.rest(path))) await this.#remove(path)
  }

  /** Files that outlive this service; `ownerOf` is whose the folder of a session has to be, as in `session`. */
  pinned(ownerOf: (sessionId: string) => FolderOwner | undefined): PinnedFiles {
    return {
      list: () => this.#pins.list(),
      pin: (sessionId, pin) => this.#pins.add(this.#known(sessionId), pin),
      unpin: (sessionId) => this.#pins.remove(this.#known(sessionId)),
      attach: (sessionId, key) => this.#attach(sessionId, key, ownerOf(sessionId)),
    }
  }

  /** Removes all that this service has, and what is pinned stays for the next one. */
  async close(): Promise<void> {
    this.#sessions.clear()
    if (this.#made !== undefined && (await this.#pins.restAll(this.#name))) await this.#remove(this.#instance)
    this.#made = undefined
  }

  /** Removes what dead services have left, and gives their names. */
  async sweep(): Promise<ReadonlySet<string>> {
    if (this.#made !== undefined) await touch(this.#instance, this.#runtime.wallNow())
    const dead = new Set(await this.dead())
    for (const name of dead) if (await this.#pins.restAll(name)) await this.#remove(join(this.#root, name))
    return dead
  }

  /** The names of services that have left their folders behind. */
  async dead(): Promise<string[]> {
    const dead: string[] = []
    for (const name of await this.#others())
      if (!(await isAlive(join(this.#root, name), this.#runtime.wallNow()))) dead.push(name)
    return dead
  }

  async #others(): Promise<string[]> {
    const names = await namesIn(this.#root)
    return names.filter((name) => name !== this.#name && /^[\da-f]{16}$/.test(name))
  }

  #known(sessionId: string): string {
    const path = this.#sessions.get(sessionId)
    if (path === undefined) throw new Error('the session has no files')
    return path
  }

  /** Sessions of an earlier service had other users. */
  async #attach(sessionId: string, key: string, owner: FolderOwner | undefined): Promise<boolean> {
    if (this.#sessions.has(sessionId)) throw new Error('the session has files of its own')
    this.#made ??= this.#make()
    await this.#made
    const path = await this.#pins.take(key)
    if (path === undefined) return false
    this.#sessions.set(sessionId, path)
    if (owner === undefined || (await lstat(path)).uid === owner.uid) return true
    const user = `${owner.uid}:${owner.gid}`
    if ((await this.#run('chown', ['-R', '-h', user, '--', path])) === 0) return true
    throw new Error(`its files cannot be given to the user ${user}`)
  }

  /** The first folder on the way to the sessions through which only its owner may pass. */
  async #closedPlace(): Promise<string | undefined> {
    const parts = this.#root.split(sep)
    for (let length = 2; length <= parts.length; length++) {
      const path = parts.slice(0, length).join(sep)
      const stats = await stat(path).catch(() => undefined)
      if (stats !== undefined && (stats.mode & 0o001) === 0) return path
    }
    return undefined
  }

  async #make(): Promise<void> {
    const isRoot = process.getuid?.() === 0
    await mkdir(this.#root, { recursive: true, mode: isRoot ? 0o711 : 0o700 })
    await mkdir(this.#instance, { mode: 0o700 })
    // Users of sessions pass through it, and see nothing. The mask of this process may have taken more away.
    if (isRoot) chmodSync(this.#instance, 0o711)
    await writeFile(join(this.#instance, OWNER_FILE), ownerOf(process.pid), { mode: 0o600 })
  }

  /** By the program of the system: a tree may be deeper than Node can follow, and folders may be closed to their owner. */
  async #remove(path: string): Promise<void> {
    if ((await this.#run('rm', ['-rf', '--', path])) === 0) return
    await this.#run('chmod', ['-R', 'u+rwX', '--', path])
    await this.#run('rm', ['-rf', '--', path])
  }

  async #run(command: string, args: readonly string[]): Promise<number | undefined> {
    const env = { PATH: this.#runtime.env['PATH'] ?? '/usr/bin:/bin' }
    const child = this.#runtime.spawn({ command, args, cwd: '/', env })
    child.stdin.on('error', () => undefined).end()
    child.stdout.resume()
    child.stderr.resume()
    return (await child.exited).code
  }
}

async function isAlive(path: string, now: number): Promise<boolean> {
  const owner = await textOf(join(path, OWNER_FILE))
  const pid = Number(owner.split(' ', 1)[0])
  if (owner === '' || !Number.isInteger(pid)) return (await ageOf(path, now)) < SILENT_MS_MAX
  const [, , boot, namespace] = owner.split(' ')
  const [, , ownBoot, ownNamespace] = ownerOf(process.pid).split(' ')
  if (boot !== ownBoot) return false
  if (namespace !== ownNamespace) return (await ageOf(path, now)) < SILENT_MS_MAX
  return ownerOf(pid) === owner
}

async function textOf(path: string): Promise<string> {
  try {
    return await readFile(path, 'latin1')
  } catch {
    return ''
  }
}

async function ageOf(path: string, now: number): Promise<number> {
  try {
    return now - (await lstat(path)).mtimeMs
  } catch {
    return Infinity
  }
}

async function touch(path: string, now: number): Promise<void> {
  try {
    await utimes(path, new Date(now), new Date(now))
  } catch {
    // It was removed; the sessions will tell.
  }
}

async function namesIn(path: string): Promise<string[]> {
  try {
    return await readdir(path)
  } catch {
    return []
  }
}
