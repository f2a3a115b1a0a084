// A container for each session, by Docker or Podman, from an image that is there.

import process from 'node:process'
import type { Child, Runtime } from '../../../runtime/runtime.js'
import { within } from '../../../runtime/within.js'
import { type TemplateImage, imageOf, imagesOf, interpreterIn } from '../../images.js'
import { Volumes } from '../../volumes.js'
import {
  type Machine,
  type MachineSpec,
  MachineStartError,
  type RuntimeProbe,
  type SandboxRuntime,
} from '../../runtime.js'
import type { StateFolder } from '../../state-folder.js'
import { DiskWatch } from '../disk-watch.js'
import { LivingMachines } from '../living-machines.js'
import { StderrHead } from '../stderr-head.js'
import { type HostIdentity, Identities } from '../bubblewrap/identities.js'
import { LABEL, CONTAINER_WORKSPACE, runArguments } from './container-arguments.js'
import { type ContainerEngine, findEngine, reasonIn } from './container-engine.js'
import { ContainerMachine } from './container-machine.js'

export interface ContainerParts {
  readonly runtime: Runtime
  readonly folder: StateFolder
  /** The user of all machines, when the service runs as root. */
  readonly runAs: HostIdentity | undefined
  readonly images: readonly TemplateImage[]
}

/** Machines that are containers. */
export class ContainerRuntime implements SandboxRuntime {
  readonly id = 'container'
  readonly isolation = 'container'
  readonly networks = ['none', 'host'] as const
  readonly #parts: ContainerParts
  readonly #identities: Identities
  readonly #volumes: Volumes
  readonly #disk: DiskWatch
  readonly #machines = new LivingMachines()
  #engine: Promise<ContainerEngine | string> | undefined
  #starts = 0

  constructor(parts: ContainerParts) {
    this.#parts = parts
    this.#identities = new Identities(process.getuid?.() === 0, parts.runAs, parts.runtime)
    this.#volumes = new Volumes(parts.runtime, parts.folder, parts.runAs)
    this.#disk = new DiskWatch(parts.runtime)
  }

  async probe(): Promise<RuntimeProbe> {
    const engine = await this.#found()
    if (typeof engine === 'string')
      return { kind: 'unusable', why: engine, remedy: 'install Docker or Podman, and start it' }
    const images = imagesOf(this.#parts.images)
    for (const image of images)
      if (await hasImage(engine, image)) return { kind: 'usable', limits: engine.kind }
    const why = `${engine.kind} has none of the images ${images.join(', ')}, and none is fetched unasked`
    return { kind: 'unusable', why, remedy: `fetch one: ${engine.kind} pull ${images[0] ?? ''}` }
  }

  async start(spec: MachineSpec): Promise<Machine> {
    const engine = await this.#found()
    if (typeof engine === 'string') throw new MachineStartError(engine)
    if (spec.interpreter !== undefined)
      throw new MachineStartError(
        `the runtime container takes the interpreter of its image: take ${spec.interpreter} from the template`,
      )
    const image = imageOf(spec)
    if (!(await hasImage(engine, image)))
      throw new MachineStartError(
        `the image ${image} is not there: ${engine.kind} pull ${image}, or set image in the template`,
      )
    const machine = await this.#started(engine, image, spec)
    this.#machines.add(machine, spec.sessionId)
    return machine
  }

  async discard(sessionId: string): Promise<void> {
    await this.#machines.stopOf(sessionId)
    await this.#parts.folder.discard(sessionId)
    this.#identities.forget(sessionId)
  }

  /** An engine may have containers of services elsewhere: removed are those whose dead owners have left folders here. */
  async sweep(): Promise<void> {
    const dead = new Set(await this.#parts.folder.dead())
    const engine = await this.#found()
    if (dead.size > 0 && typeof engine !== 'string') {
      const listed = await engine.ask(['ps', '--all', '--filter', `label=${LABEL}`, '--format', '{{.Names}}'])
      for (const name of listed.stdout.split('\n')) {
        const [, owner] = /^mcps-sandbox-([\da-f]{16})-\d+$/.exec(name.trim()) ?? []
        if (owner !== undefined && dead.has(owner)) await engine.ask(['rm', '--force', name.trim()])
      }
    }
    await this.#parts.folder.sweep()
  }

  async close(): Promise<void> {
    await this.#machines.stopAll()
    this.#volumes.close()
    await this.#parts.folder.close()
  }

  async #started(engine: ContainerEngine, image: string, spec: MachineSpec): Promise<ContainerMachine> {
    const { runtime, folder } = this.#parts
    const identity = this.#identities.of(spec.sessionId)
    const sessionFolder = await folder.session(spec.sessionId, identity)
    const name = `${LABEL}-${folder.name}-${++this.#starts}`
    const args = runArguments({
      name,
      owner: folder.name,
      image,
      sessionFolder,
      identity: identity ?? { uid: process.getuid?.() ?? 1000, gid: process.getgid?.() ?? 1000 },
      keepsUser: engine.keepsUser,
      spec,
      volumes: await this.#volumes.of(spec.volumes),
    })
    const heldBytes = await this.#disk.held(sessionFolder)
    const child = engine.spawn(args, {})
    child.stdin.on('error', () => undefined)
    const stderr = new StderrHead(child.stderr)
    const isReady = await within(
      Promise.race([readiness(child), child.exited.then(() => false)]),
      spec.startTimeoutMs,
      runtime,
    )
    const env = { HOME: CONTAINER_WORKSPACE, ...spec.env }
    const interpreter = interpreterIn(spec.language)
    const machine = new ContainerMachine({
      runtime,
      engine,
      name,
      child,
      interpreter,
      env,
      disk: this.#disk,
      folder: sessionFolder,
      heldBytes,
      diskGiB: spec.flavor.diskGiB,
    })
    if (isReady === true) return machine
    await machine.stop()
    if (isReady === undefined) throw new MachineStartError(`it took longer than ${spec.startTimeoutMs} ms`)
    throw new MachineStartError(`${engine.kind} did not start it: ${reasonIn(stderr.text)}`)
  }

  #found(): Promise<ContainerEngine | string> {
    this.#engine ??= findEngine(this.#parts.runtime)
    return this.#engine
  }
}

async function hasImage(engine: ContainerEngine, image: string): Promise<boolean> {
  return (await engine.ask(['image', 'inspect', '--format', '{{.Id}}', image])).code === 0
}

/** The first program says one line, and nothing after it. */
function readiness({ stdout }: Child): Promise<boolean> {
  return new Promise((resolve) => {
    stdout.on('error', () => undefined)
    stdout.once('data', () => resolve(true))
    stdout.resume()
  })
}
