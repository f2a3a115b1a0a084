// A container for each session, by Docker or Podman, from a local image.

import type { Child, Runtime } from '../../../runtime/runtime.js'
import { within } from '../../../runtime/deadline.js'
import { StderrHead } from '../../host-program.js'
import {
  type Machine,
  type MachineSpec,
  MachineStartError,
  type RuntimeProbe,
  type SandboxLanguage,
  type SandboxRuntime,
} from '../../runtime.js'
import type { SessionHost } from '../session-host.js'
import { type ContainerEngine, findEngine, reasonIn } from './container-engine.js'
import { ContainerMachine, LABEL, runArguments } from './container-machine.js'

export class ContainerRuntime implements SandboxRuntime {
  readonly id = 'container'
  readonly isolation = 'container'
  readonly networks = ['none', 'host'] as const
  readonly #runtime: Runtime
  readonly #host: SessionHost
  readonly #templates: readonly TemplateImage[]
  readonly #programs: readonly string[]
  #engine: Promise<ContainerEngine | string> | undefined
  #starts = 0

  /** `programs` are folders of programs besides those of the system. */
  constructor(
    runtime: Runtime,
    host: SessionHost,
    templates: readonly TemplateImage[],
    programs: readonly string[],
  ) {
    this.#runtime = runtime
    this.#host = host
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
    this.#host.add(machine, spec.sessionId)
    return machine
  }

  async discard(sessionId: string): Promise<void> {
    await this.#host.discard(sessionId)
  }

  /** Removes containers of dead owners that left folders on this host; services on other hosts may use the same engine. */
  async sweep(): Promise<void> {
    const dead = new Set(await this.#host.folder.dead())
    const engine = await this.#found()
    if (dead.size > 0 && typeof engine !== 'string') {
      const listed = await engine.ask(['ps', '--all', '--filter', `label=${LABEL}`, '--format', '{{.Names}}'])
      for (const name of listed.stdout.split('\n')) {
        const [, owner] = /^mcps-sandbox-([\da-f]{16})-\d+$/.exec(name.trim()) ?? []
        if (owner !== undefined && dead.has(owner)) await engine.ask(['rm', '--force', name.trim()])
      }
    }
    await this.#host.folder.sweep()
  }

  async close(): Promise<void> {
    await this.#host.close()
  }

  async #started(engine: ContainerEngine, image: string, spec: MachineSpec): Promise<ContainerMachine> {
    const place = await this.#host.prepare(spec)
    const owner = this.#host.folder.name
    const name = `${LABEL}-${owner}-${++this.#starts}`
    const terms = { name, owner, image, place, keepsUser: engine.keepsUser, spec }
    const child = engine.spawn(runArguments(terms), {})
    child.stdin.on('error', () => undefined)
    const stderr = new StderrHead(child.stderr)
    const isReady = await within(
      Promise.race([readiness(child), child.exited.then(() => false)]),
      spec.startTimeoutMs,
      this.#runtime,
    )
    const machine = new ContainerMachine(this.#runtime, this.#host.disk, engine, child, terms)
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
