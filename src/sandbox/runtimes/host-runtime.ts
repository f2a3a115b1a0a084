// The runtime of sessions on this host: folders, users, volumes, and a watch on the disk.
//
// A driver isolates the machines in one way: bubblewrap, or a container.

import process from 'node:process'
import type { Runtime } from '../../runtime/runtime.js'
import type { Machine, MachineSpec, SandboxIsolation, SandboxRuntime } from '../runtime.js'
import type { StateFolder } from '../state-folder.js'
import { type OpenVolume, Volumes } from '../volumes.js'
import { DiskWatch, type WatchedMachine } from './disk-watch.js'
import { type HostIdentity, Identities } from './identities.js'

/** The folder of the session, as programs inside see it. */
export const WORKSPACE = '/workspace'

const MiB = 1024 * 1024

export function temporaryBytes(memoryMiB: number): number {
  return Math.floor(memoryMiB / 4) * MiB
}

export interface MachinePlace {
  readonly folder: string
  /** Undefined means the user of the service. */
  readonly identity: HostIdentity | undefined
  readonly volumes: readonly OpenVolume[]
  /** The name of the service among all that keep their files in the same folder. */
  readonly owner: string
}

export interface HostMachine extends Machine, WatchedMachine {}

export interface MachineDriver {
  readonly id: string
  readonly isolation: SandboxIsolation
  readonly canLimitHosts: boolean
  /** As `probe` of a runtime. `identity` is the user of a machine, if that is not the user of this process. */
  probe(identity: HostIdentity | undefined): Promise<string>
  /** @throws MachineStartError */
  start(spec: MachineSpec, place: MachinePlace): Promise<HostMachine>
  /** Removes the remains of killed services outside their folders. Absent if nothing outlives a service. */
  removeRemains?(owners: ReadonlySet<string>): Promise<void>
}

export class HostRuntime implements SandboxRuntime {
  readonly id: string
  readonly isolation: SandboxIsolation
  readonly canLimitHosts: boolean
  readonly #driver: MachineDriver
  readonly #folder: StateFolder
  readonly #identities: Identities
  readonly #disk: DiskWatch
  readonly #volumes: Volumes
  readonly #machines = new Map<Machine, string>()

  constructor(driver: MachineDriver, runtime: Runtime, folder: StateFolder, runAs: HostIdentity | undefined) {
    this.id = driver.id
    this.isolation = driver.isolation
    this.canLimitHosts = driver.canLimitHosts
    this.#driver = driver
    this.#folder = folder
    this.#identities = new Identities(process.getuid?.() === 0, runAs, runtime)
    this.#disk = new DiskWatch(runtime)
    this.#volumes = new Volumes(runtime, folder, runAs)
  }

  probe(): Promise<string> {
    return this.#driver.probe(this.#identities.of(''))
  }

  async start(spec: MachineSpec): Promise<Machine> {
    const { sessionId, flavor } = spec
    const volumes = await this.#volumes.of(spec.volumes)
    const identity = this.#identities.of(sessionId)
    const folder = await this.#folder.session(sessionId, identity)
    const heldBytes = await this.#disk.held(folder)
    const machine = await this.#driver.start(spec, { folder, identity, volumes, owner: this.#folder.name })
    const unwatch = this.#disk.add(machine, { folder, diskGiB: flavor.diskGiB, heldBytes })
    this.#machines.set(machine, sessionId)
    void machine.ended.then(() => {
      unwatch()
      this.#machines.delete(machine)
    })
    return machine
  }

  /** Stops the machine first, because a running program could create files during their removal. */
  async discard(sessionId: string): Promise<void> {
    await this.#stop((session) => session === sessionId)
    await this.#folder.discard(sessionId)
    this.#identities.forget(sessionId)
  }

  async sweep(): Promise<void> {
    await this.#driver.removeRemains?.(new Set(await this.#folder.dead()))
    await this.#folder.sweep()
  }

  async close(): Promise<void> {
    await this.#stop(() => true)
    this.#volumes.close()
    await this.#folder.close()
  }

  async #stop(isMeant: (sessionId: string) => boolean): Promise<void> {
    const meant = [...this.#machines].filter(([, sessionId]) => isMeant(sessionId))
    await Promise.all(meant.map(([machine]) => machine.stop()))
  }
}
