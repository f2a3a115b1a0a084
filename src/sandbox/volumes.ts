// The folders of the host that machines may see, and the check that they stay the configured ones.
//
// The service opens a volume once, at its first use, and bubblewrap mounts the open folder, so a later replacement
// at the same path is not mounted. A socket or a named pipe below a volume leads to a program of the host, and
// neither a namespace nor a read-only mount blocks it. The service therefore refuses a volume that contains one.

import { closeSync, constants, fstatSync, lstatSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, normalize } from 'node:path'
import process from 'node:process'
import type { Runtime } from '../runtime/runtime.js'
import { errorCode, errorText } from '../text/error-text.js'
import { covers } from '../runtime/places.js'
import { systemProgram } from './host-program.js'
import { openUnlinked } from './processes.js'
import type { SandboxVolume } from '../upstream/contracts/sandbox-config.js'
import { misconfigured } from './runtime.js'
import type { HostIdentity } from './runtimes/identities.js'
import type { StateFolder } from './state-folder.js'

/** A volume with a descriptor of its folder, which stays open as long as the service runs. */
export interface OpenVolume extends SandboxVolume {
  readonly descriptor: number
}

/** Folders of the system, and folders that give programs with write access control of the host. */
const FORBIDDEN_ON_HOST = ['/proc', '/sys', '/dev', '/run', '/var/run', '/etc', '/boot']

/** Folders of the machine itself. In its workspace, a program could replace the volume by a link. */
const TAKEN_INSIDE = 'bin dev etc lib lib32 lib64 libx32 proc sbin sys tmp usr workspace'
  .split(' ')
  .map((name) => `/${name}`)

const SEARCH_MS = 20_000

export class Volumes {
  readonly #runtime: Runtime
  readonly #folder: StateFolder
  readonly #runAs: HostIdentity | undefined
  readonly #open = new Map<string, number>()

  constructor(runtime: Runtime, folder: StateFolder, runAs: HostIdentity | undefined) {
    this.#runtime = runtime
    this.#folder = folder
    this.#runAs = runAs
  }

  async of(volumes: readonly SandboxVolume[]): Promise<OpenVolume[]> {
    const opened: OpenVolume[] = []
    for (const volume of volumes) {
      const problem = this.#problem(volume, volumes)
      if (problem !== undefined) throw misconfigured(problem)
      const descriptor = this.#descriptor(volume)
      await this.#assertNoSockets(volume)
      opened.push({ ...volume, descriptor })
    }
    return opened
  }

  close(): void {
    for (const descriptor of this.#open.values()) closeSync(descriptor)
    this.#open.clear()
  }

  #problem(volume: SandboxVolume, all: readonly SandboxVolume[]): string | undefined {
    const { hostPath, guestPath, isReadOnly } = volume
    if (!guestPath.startsWith('/') || normalize(guestPath) !== guestPath || guestPath.endsWith('/'))
      return `${guestPath} is no plain absolute path inside: write it without '..', '//' and an ending '/'`
    if (TAKEN_INSIDE.some((path) => covers(path, guestPath)))
      return `${guestPath} belongs to the machine: choose a folder of its own, such as /data`
    if (isTooWide(hostPath))
      return `${hostPath} would give the machine control of the host: choose a folder that holds nothing but what the machine needs`
    if (this.#folder.overlaps(hostPath))
      return `${hostPath} and the state folder of the sandbox: one of them contains the other`
    for (const other of all) {
      if (other === volume) continue
      if (overlap(other.guestPath, guestPath)) return overlapText(guestPath, other.guestPath)
      if (overlap(other.hostPath, hostPath)) return overlapText(hostPath, other.hostPath)
    }
    return !isReadOnly && process.getuid?.() === 0 && this.#runAs === undefined
      ? `${hostPath} can be written to by no session, as each has a user of its own: add :ro, or set runAs to its owner`
      : undefined
  }

  /** Returns the descriptor from the first use, if the path still leads to the same folder. */
  #descriptor({ hostPath }: SandboxVolume): number {
    const known = this.#open.get(hostPath)
    const descriptor = known ?? openFolder(hostPath)
    if (known === undefined) this.#open.set(hostPath, descriptor)
    const [is, was] = [lstatSync(hostPath, { throwIfNoEntry: false }), fstatSync(descriptor)]
    if (is?.ino !== was.ino || is.dev !== was.dev)
      throw misconfigured(`${hostPath} is not the folder that it was when the service started`)
    return descriptor
  }

  async #assertNoSockets({ hostPath }: SandboxVolume): Promise<void> {
    const search = ['find', hostPath, '(', '-type', 's', '-o', '-type', 'p', ')', '-print', '-quit'] as const
    const { stdout, isLate } = await systemProgram(this.#runtime, search, SEARCH_MS)
    const [found = ''] = stdout.split('\n', 1)
    if (found !== '')
      throw misconfigured(
        `${hostPath} holds the socket or pipe '${found.slice(hostPath.length + 1)}', through which the host could be reached: remove it, or choose a folder without one`,
      )
    if (isLate)
      throw misconfigured(
        `${hostPath} has too many files to be searched for sockets: choose a smaller folder`,
      )
  }
}

/** Opens a folder, and follows no link on the way. @throws MachineStartError */
function openFolder(hostPath: string): number {
  try {
    const descriptor = openUnlinked(hostPath, constants.O_DIRECTORY)
    if (descriptor !== undefined) return descriptor
  } catch (error) {
    if (lstatSync(hostPath, { throwIfNoEntry: false })?.isSymbolicLink() !== true)
      throw misconfigured(unopened(hostPath, errorCode(error) ?? errorText(error)))
  }
  throw misconfigured(behindLink(hostPath))
}

/** Clients read this message, and must not learn where a link leads. */
function behindLink(hostPath: string): string {
  return `${hostPath} is a link, or lies behind one: write the path that realpath ${hostPath} shows`
}

function unopened(hostPath: string, code: string): string {
  if (code === 'ENOENT') return `there is no ${hostPath} (ENOENT): make the folder, or remove it from volumes`
  if (code === 'ENOTDIR') return `${hostPath} is no folder: name the folder that holds it`
  return `${hostPath} cannot be opened (${code}): let the user of the service do that`
}

/** Whether the path is the root, a home, a folder of the system, or a folder that contains one of them. */
export function isTooWide(path: string): boolean {
  if (path === '/' || covers(path, homedir())) return true
  if (['/home', '/root', '/Users'].includes(path) || dirname(path) === '/home') return true
  return (
    FORBIDDEN_ON_HOST.some((forbidden) => covers(forbidden, path) || covers(path, forbidden)) ||
    covers(path, '/usr')
  )
}

function overlapText(one: string, other: string): string {
  return `${one} and ${other}: one of them contains the other`
}

export function overlap(one: string, other: string): boolean {
  return covers(one, other) || covers(other, one)
}
