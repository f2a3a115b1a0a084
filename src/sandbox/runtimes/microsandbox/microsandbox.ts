// A small virtual machine for each session, by the package `microsandbox`, which is installed by whoever wants it.
//
// That it is there, and a device for virtual machines too, says little: so the first look at it boots one.

import process from 'node:process'
import type { Runtime } from '../../../runtime/runtime.js'
import { within } from '../../../runtime/within.js'
import { type TemplateImage, imageOf, imagesOf, interpreterIn } from '../../images.js'
import { MachineVolumes } from '../../machine-volumes.js'
import {
  type Machine,
  type MachineSpec,
  MachineStartError,
  type PinnedFiles,
  type RuntimeProbe,
  type SandboxRuntime,
} from '../../runtime.js'
import type { StateFolder } from '../../state-folder.js'
import { LivingMachines } from '../living-machines.js'
import { MICROVM_WORKSPACE, MicrovmMachine } from './microvm-machine.js'
import type { Microvm, MicrovmBuilder, MicrovmPackage } from './microvm-package.js'

/** The first version of Node for which the package is made. */
const NODE_MIN = 22

const PROBE_MS = 30_000

const MIB_IN_GIB = 1024

const install = 'npm install microsandbox'

export interface MicrosandboxParts {
  readonly runtime: Runtime
  readonly folder: StateFolder
  readonly images: readonly TemplateImage[]
  /** Loads the package. */
  readonly load: () => Promise<MicrovmPackage>
  /** Of Node. */
  readonly nodeVersion: string
}

/** Machines that are virtual machines. */
export class MicrosandboxRuntime implements SandboxRuntime {
  readonly id = 'microsandbox'
  readonly isolation = 'vm'
  readonly networks = ['none', 'host'] as const
  readonly pinned: PinnedFiles
  readonly #parts: MicrosandboxParts
  readonly #volumes: MachineVolumes
  readonly #machines = new LivingMachines()
  #package: Promise<MicrovmPackage> | undefined
  #probe: Promise<RuntimeProbe> | undefined
  #starts = 0

  constructor(parts: MicrosandboxParts) {
    this.#parts = parts
    // Whoever writes to a volume is the user of the service, whoever it is inside.
    this.#volumes = new MachineVolumes(parts.folder, ownIdentity())
    this.pinned = parts.folder.pinned(() => undefined)
  }

  probe(): Promise<RuntimeProbe> {
    this.#probe ??= this.#try()
    return this.#probe
  }

  async start(spec: MachineSpec): Promise<Machine> {
    const { runtime, folder } = this.#parts
    if (spec.interpreter !== undefined)
      throw new MachineStartError(
        `the runtime microsandbox takes the interpreter of its image: take ${spec.interpreter} from the template`,
      )
    const name = this.#name()
    const volumes = await this.#volumes.of(spec)
    const path = await folder.session(spec.sessionId)
    const vm = await this.#booted(name, spec.startTimeoutMs, (builder) => {
      const { cpus, memoryMiB, diskGiB } = spec.flavor
      builder.image(imageOf(spec)).cpus(cpus).memory(memoryMiB).workdir(MICROVM_WORKSPACE)
      builder.volume(MICROVM_WORKSPACE, (mount) =>
        mount
          .bind(path)
          .quota(diskGiB * MIB_IN_GIB)
          .nosuid()
          .nodev(),
      )
      for (const { hostPath, guestPath, isReadOnly } of volumes)
        builder.volume(guestPath, (mount) => {
          const bound = mount.bind(hostPath).nosuid().nodev()
          return isReadOnly ? bound.readonly() : bound
        })
      return spec.network.kind === 'host' ? builder : builder.disableNetwork()
    })
    const env = { HOME: MICROVM_WORKSPACE, ...spec.env }
    const interpreter = interpreterIn(spec.language)
    const machine = new MicrovmMachine({ runtime, name, vm, interpreter, env })
    this.#machines.add(machine, spec.sessionId)
    return machine
  }

  async discard(sessionId: string): Promise<void> {
    await this.#machines.stopOf(sessionId)
    await this.#parts.folder.discard(sessionId)
  }

  /** Virtual machines of services that are dead, before the folders that they write to. */
  async sweep(): Promise<void> {
    const dead = new Set(await this.#parts.folder.dead())
    if (dead.size > 0) await this.#destroyOf(dead)
    await this.#parts.folder.sweep()
  }

  async close(): Promise<void> {
    await this.#machines.stopAll()
    await this.#parts.folder.close()
  }

  async #destroyOf(dead: ReadonlySet<string>): Promise<void> {
    try {
      const { Sandbox } = await this.#loaded()
      for (const each of (await Sandbox.list()).sandboxes) {
        const [, owner] = /^mcps-sandbox-([\da-f]{16})-\d+$/.exec(each.name) ?? []
        if (owner !== undefined && dead.has(owner)) await each.destroy()
      }
    } catch {
      // Without the package there are none.
    }
  }

  async #try(): Promise<RuntimeProbe> {
    const { nodeVersion, images } = this.#parts
    if (Number.parseInt(nodeVersion, 10) < NODE_MIN)
      return unusable(`it needs Node.js ${NODE_MIN}, and this is ${nodeVersion}`, 'use a newer Node.js')
    try {
      await this.#loaded()
    } catch (error) {
      return unusable(`the package microsandbox cannot be loaded: ${firstLine(error)}`, install)
    }
    const [image = ''] = imagesOf(images)
    try {
      const vm = await this.#booted(this.#name(), PROBE_MS, (builder) =>
        builder.image(image).disableNetwork(),
      )
      await vm.kill()
      await vm.destroy()
      return { kind: 'usable', limits: 'the virtual machine' }
    } catch (error) {
      const remedy = `look at what npx msb doctor says, and that the image ${image} is there: none is fetched unasked`
      return unusable(`no virtual machine boots: ${firstLine(error)}`, remedy)
    }
  }

  /** One that does not boot in time is given up, and ended when it boots all the same. */
  async #booted(
    name: string,
    timeoutMs: number,
    configure: (builder: MicrovmBuilder) => MicrovmBuilder,
  ): Promise<Microvm> {
    const { Sandbox } = await this.#loaded()
    const booting = configure(Sandbox.builder(name).pullPolicy('never').ephemeral(true)).create()
    try {
      const vm = await within(booting, timeoutMs, this.#parts.runtime)
      if (vm !== undefined) return vm
      booting.then(
        (late) => late.kill().then(() => late.destroy()),
        () => undefined,
      )
    } catch (error) {
      // A boot that fails leaves a record behind.
      await Sandbox.remove(name).catch(() => undefined)
      throw new MachineStartError(firstLine(error))
    }
    throw new MachineStartError(`it took longer than ${timeoutMs} ms`)
  }

  #loaded(): Promise<MicrovmPackage> {
    this.#package ??= this.#parts.load()
    return this.#package
  }

  #name(): string {
    return `mcps-sandbox-${this.#parts.folder.name}-${++this.#starts}`
  }
}

function ownIdentity(): { readonly uid: number; readonly gid: number } {
  return { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 }
}

function unusable(why: string, remedy: string): RuntimeProbe {
  return { kind: 'unusable', why, remedy }
}

function firstLine(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split('\n')[0] ?? ''
}
