// A container for each session, by Docker or Podman, from a local image.

import type { Child, Runtime } from '../../../runtime/runtime.js'
import { within } from '../../../runtime/deadline.js'
import { StderrHead } from '../../host-program.js'
import {
  type MachineSpec,
  MachineStartError,
  type RuntimeProbe,
  type SandboxLanguage,
} from '../../runtime.js'
import type { HostMachine, MachineDriver, MachinePlace } from '../host-runtime.js'
import { type ContainerEngine, findEngine, reasonIn } from './container-engine.js'
import { ContainerMachine, LABEL, runArguments } from './container-machine.js'

export class ContainerDriver implements MachineDriver {
  readonly id = 'container'
  readonly isolation = 'container'
  readonly networks = ['none', 'host'] as const
  readonly #runtime: Runtime
  readonly #templates: readonly TemplateImage[]
  readonly #programs: readonly string[]
  #engine: Promise<ContainerEngine | string> | undefined
  #starts = 0

  /** `programs` are folders of programs in addition to those of the system. */
  constructor(runtime: Runtime, templates: readonly TemplateImage[], programs: readonly string[]) {
    this.#runtime = runtime
    this.#templates = templates
    this.#programs = programs
  }

  async probe(): Promise<RuntimeProbe> {
    const engine = await this.#found()
    if (typeof engine === 'string')
      return { kind: 'unusable', why: engine, remedy: 'install Docker or Podman, and start it' }
    const images = imagesOf(this.#templates)
    for (const image of images)
      if (await hasImage(engine, image)) return { kind: 'usable', limits: engine.kind }
    const why = `${engine.kind} has none of the images ${images.join(', ')}, and none is fetched unasked`
    return { kind: 'unusable', why, remedy: `fetch one: ${engine.kind} pull ${images[0] ?? ''}` }
  }

  async start(spec: MachineSpec, prepare: () => Promise<MachinePlace>): Promise<HostMachine> {
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
    return this.#started(engine, image, spec, await prepare())
  }

  /** Removes containers of dead owners that left folders on this host; services on other hosts may use the same engine. */
  async removeRemains(owners: ReadonlySet<string>): Promise<void> {
    const engine = await this.#found()
    if (owners.size === 0 || typeof engine === 'string') return
    const listed = await engine.ask(['ps', '--all', '--filter', `label=${LABEL}`, '--format', '{{.Names}}'])
    for (const name of listed.stdout.split('\n').map((line) => line.trim())) {
      const [, owner] = /^mcps-sandbox-([\da-f]{16})-\d+$/.exec(name) ?? []
      if (owner !== undefined && owners.has(owner)) await engine.ask(['rm', '--force', name])
    }
  }

  async #started(
    engine: ContainerEngine,
    image: string,
    spec: MachineSpec,
    place: MachinePlace,
  ): Promise<ContainerMachine> {
    const name = `${LABEL}-${place.owner}-${++this.#starts}`
    const terms = { name, image, place, keepsUser: engine.keepsUser, spec }
    const child = engine.spawn(runArguments(terms), {})
    child.stdin.on('error', () => undefined)
    const stderr = new StderrHead(child.stderr)
    const isReady = await within(
      Promise.race([readiness(child), child.exited.then(() => false)]),
      spec.startTimeoutMs,
      this.#runtime,
    )
    const machine = new ContainerMachine(this.#runtime, engine, child, terms)
    if (isReady === true) return machine
    await machine.stop()
    if (isReady === undefined) throw new MachineStartError(`it took longer than ${spec.startTimeoutMs} ms`)
    throw new MachineStartError(`${engine.kind} did not start it: ${reasonIn(stderr.text)}`)
  }

  #found(): Promise<ContainerEngine | string> {
    this.#engine ??= findEngine(this.#runtime, this.#programs)
    return this.#engine
  }
}

async function hasImage(engine: ContainerEngine, image: string): Promise<boolean> {
  return (await engine.ask(['image', 'inspect', '--format', '{{.Id}}', image])).code === 0
}

/** Resolves when the first program prints its line; it prints no other. */
function readiness({ stdout }: Child): Promise<boolean> {
  return new Promise((resolve) => {
    stdout.on('error', () => undefined)
    stdout.once('data', () => resolve(true))
    stdout.resume()
  })
}

export interface TemplateImage {
  readonly language: SandboxLanguage
  readonly image: string | undefined
}

/** The images of languages, for templates that name none. */
const usualImages: Readonly<Record<SandboxLanguage, string>> = {
  python: 'python:3-slim',
  node: 'node:22-slim',
}

function imageOf({ language, image }: TemplateImage): string {
  return image ?? usualImages[language]
}

/** The images of these templates, or of all languages. */
function imagesOf(templates: readonly TemplateImage[]): string[] {
  return [...new Set(templates.length === 0 ? Object.values(usualImages) : templates.map(imageOf))]
}
