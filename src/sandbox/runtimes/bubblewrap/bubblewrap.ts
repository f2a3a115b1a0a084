// The runtime that needs nothing but bubblewrap: namespaces of Linux, a filter of system calls, and limits.

import { randomBytes } from 'node:crypto'
import process from 'node:process'
import type { LogSink, Runtime } from '../../../runtime/runtime.js'
import {
  type Machine,
  type MachineSpec,
  MachineStartError,
  type RuntimeProbe,
  type SandboxRuntime,
} from '../../runtime.js'
import { Volumes } from '../../volumes.js'
import type { StateFolder } from '../../state-folder.js'
import { LivingMachines } from '../living-machines.js'
import { type BubblewrapFindings, probeBubblewrap } from './bubblewrap-probe.js'
import { findInterpreter } from './guest-interpreter.js'
import { type HostIdentity, Identities } from './identities.js'
import { type BubblewrapHost, startMachine } from './machine-start.js'
import { DiskWatch } from '../disk-watch.js'

export interface BubblewrapParts {
  readonly runtime: Runtime
  readonly log: LogSink
  readonly folder: StateFolder
  readonly agentFile: string
  /** The user of all machines, when the service runs as root. */
  readonly runAs: HostIdentity | undefined
}

/** Machines of bubblewrap. */
export class BubblewrapRuntime implements SandboxRuntime {
  readonly id = 'bubblewrap'
  readonly isolation = 'namespaces'
  readonly networks = ['none', 'allow', 'host'] as const
  readonly #parts: BubblewrapParts
  readonly #identities: Identities
  readonly #machines = new LivingMachines()
  readonly #volumes: Volumes
  readonly #disk: DiskWatch
  #findings: Promise<BubblewrapFindings> | undefined

  constructor(parts: BubblewrapParts) {
    this.#parts = parts
    this.#volumes = new Volumes(parts.runtime, parts.folder, parts.runAs)
    this.#disk = new DiskWatch(parts.runtime)
    this.#identities = new Identities(process.getuid?.() === 0, parts.runAs, parts.runtime)
  }

  async probe(): Promise<RuntimeProbe> {
    return (await this.#found()).probe
  }

  async start(spec: MachineSpec): Promise<Machine> {
    const host = await this.#host()
    const { runtime, log, folder } = this.#parts
    const interpreter = findInterpreter(spec, runtime.env)
    const volumes = await this.#volumes.of(spec.volumes)
    const identity = this.#identities.of(spec.sessionId)
    const machine = await startMachine({
      runtime,
      log,
      host,
      disk: this.#disk,
      spec,
      volumes,
      identity,
      interpreter,
      folder: await folder.session(spec.sessionId, identity),
      name: scopeName(),
    })
    this.#machines.add(machine, spec.sessionId)
    return machine
  }

  /** Stops the machine first: a running program could make files while they are removed. */
  async discard(sessionId: string): Promise<void> {
    await this.#machines.stopOf(sessionId)
    await this.#parts.folder.discard(sessionId)
    this.#identities.forget(sessionId)
  }

  /** A dead service's machines and scopes have ended with it; its folders are left. */
  async sweep(): Promise<void> {
    await this.#parts.folder.sweep()
  }

  async close(): Promise<void> {
    await this.#machines.stopAll()
    this.#volumes.close()
    await this.#parts.folder.close()
  }

  async #host(): Promise<BubblewrapHost> {
    const { probe, host } = await this.#found()
    if (host !== undefined) return host
    throw new MachineStartError(
      probe.kind === 'unusable' ? `${probe.why}; ${probe.remedy}` : 'bubblewrap cannot be used',
    )
  }

  #found(): Promise<BubblewrapFindings> {
    const { runtime, agentFile } = this.#parts
    this.#findings ??= probeBubblewrap({
      runtime,
      agentFile,
      name: scopeName(),
      identity: this.#identities.of(''),
    })
    return this.#findings
  }
}

/** It is seen inside, so that it says nothing of the service. */
function scopeName(): string {
  return `mcps-sandbox-${randomBytes(8).toString('hex')}`
}
