// The resources of machines on this host: folders, users, volumes, and a watch on the disk.

import process from 'node:process'
import type { Runtime } from '../../runtime/runtime.js'
import type { Machine, MachineSpec } from '../runtime.js'
import type { StateFolder } from '../state-folder.js'
import { type OpenVolume, Volumes } from '../volumes.js'
import { DiskWatch } from './disk-watch.js'
import { type HostIdentity, Identities } from './identities.js'

/** The folder of the session, as programs inside see it. */
export const WORKSPACE = '/workspace'

const MiB = 1024 * 1024

/** The most bytes that the folders in memory of a machine may take. */
export function temporaryBytes(memoryMiB: number): number {
  return Math.floor(memoryMiB / 4) * MiB
}

/** The resources of the next machine of a session. */
export interface MachinePlace {
  /** The folder of the session, on the host. */
  readonly folder: string
  /** Bytes in the folder before the machine started. */
  readonly heldBytes: number
  /** Undefined means the user of the service. */
  readonly identity: HostIdentity | undefined
  readonly volumes: readonly OpenVolume[]
}

export class SessionHost {
  readonly folder: StateFolder
  readonly identities: Identities
  readonly disk: DiskWatch
  readonly #volumes: Volumes
  /** Running machines with their sessions. */
  readonly #machines = new Map<Machine, string>()

  /** `runAs` is the user of all machines, when the service runs as root. */
  constructor(runtime: Runtime, folder: StateFolder, runAs: HostIdentity | undefined) {
    this.folder = folder
    this.identities = new Identities(process.getuid?.() === 0, runAs, runtime)
    this.disk = new DiskWatch(runtime)
    this.#volumes = new Volumes(runtime, folder, runAs)
  }

  /** @throws MachineStartError */
  async prepare({ sessionId, volumes }: MachineSpec): Promise<MachinePlace> {
    const opened = await this.#volumes.of(volumes)
    const identity = this.identities.of(sessionId)
    const folder = await this.folder.session(sessionId, identity)
    return { folder, heldBytes: await this.disk.held(folder), identity, volumes: opened }
  }

  add(machine: Machine, sessionId: string): void {
    this.#machines.set(machine, sessionId)
    void machine.ended.then(() => this.#machines.delete(machine))
  }

  /** Stops the machine first: a running program could create files during their removal. */
  async discard(sessionId: string): Promise<void> {
    await this.#stop((session) => session === sessionId)
    await this.folder.discard(sessionId)
    this.identities.forget(sessionId)
  }

  async close(): Promise<void> {
    await this.#stop(() => true)
    this.#volumes.close()
    await this.folder.close()
  }

  async #stop(isMeant: (sessionId: string) => boolean): Promise<void> {
    const meant = [...this.#machines].filter(([, sessionId]) => isMeant(sessionId))
    await Promise.all(meant.map(([machine]) => machine.stop()))
  }
}
