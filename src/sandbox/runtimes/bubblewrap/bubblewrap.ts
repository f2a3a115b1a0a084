// The runtime that needs nothing but bubblewrap: namespaces of Linux, a filter of system calls, and limits.

import process from 'node:process'
import type { LogSink, Runtime } from '../../../runtime/runtime.js'
import {
  type Machine,
  type MachineSpec,
  MachineStartError,
  type PinnedFiles,
  type RuntimeProbe,
  type SandboxRuntime,
} from '../../runtime.js'
import { MachineVolumes } from '../../machine-volumes.js'
import type { StateFolder } from '../../state-folder.js'
import { LivingMachines } from '../living-machines.js'
import { type BubblewrapFindings, probeBubblewrap } from './bubblewrap-probe.js'
import { findInterpreter } from './guest-interpreter.js'
import { type HostIdentity, Identities } from './identities.js'
import { type BubblewrapHost, startMachine } from './machine-start.js'
import { machineGroupName, sweepGroups } from './machine-groups.js'

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
  readonly pinned: PinnedFiles
  readonly #parts: BubblewrapParts
  readonly #identities: Identities
  readonly #machines = new LivingMachines()
  readonly #volumes: MachineVolumes
  #findings: Promise<BubblewrapFindings> | undefined
  #starts = 0

  constructor(parts: BubblewrapParts) {
    this.#parts = parts
    this.#volumes = new MachineVolumes(parts.folder, parts.runAs)
    this.#identities = new Identities(process.getuid?.() === 0, parts.runAs, parts.runtime)
    this.pinned = parts.folder.pinned((sessionId) => this.#identities.of(sessionId))
  }

  async probe(): Promise<RuntimeProbe> {
    return (await this.#found()).probe
  }

  async start(spec: MachineSpec): Promise<Machine> {
    const host = await this.#host()
    const volumes = await this.#volumes.of(spec)
    const { runtime, log, folder } = this.#parts
    const interpreter = await findInterpreter(spec.language, spec.interpreter, runtime)
    if (interpreter === undefined) throw new MachineStartError(noInterpreter(spec))
    const identity = this.#identities.of(spec.sessionId)
    const machine = await startMachine({
      runtime,
      log,
      host,
      spec,
      volumes,
      identity,
      interpreter,
      folder: await folder.session(spec.sessionId, identity),
      name: machineGroupName(folder.name, ++this.#starts),
    })
    this.#machines.add(machine, spec.sessionId)
    return machine
  }

  /** While a program runs its files would come again. */
  async discard(sessionId: string): Promise<void> {
    await this.#machines.stopOf(sessionId)
    await this.#parts.folder.discard(sessionId)
    this.#identities.forget(sessionId)
  }

  /** A dead service's machines have died with it; its folders and control groups have not. */
  async sweep(): Promise<void> {
    const dead = await this.#parts.folder.sweep()
    const { host } = await this.#found()
    if (host?.places !== undefined) await sweepGroups(host.places, dead, this.#parts.runtime)
  }

  async close(): Promise<void> {
    await this.#machines.stopAll()
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
    const { runtime, agentFile, folder } = this.#parts
    this.#findings ??= probeBubblewrap({
      runtime,
      agentFile,
      name: machineGroupName(folder.name, 0),
      identity: this.#identities.of(''),
    })
    return this.#findings
  }
}

function noInterpreter({ language, interpreter }: MachineSpec): string {
  if (interpreter !== undefined) return `${interpreter} is no ${language} that can be run`
  return `there is no ${language} on this host: install it (apt-get install ${language === 'python' ? 'python3' : 'nodejs'})`
}
