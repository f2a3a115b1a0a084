// A container for each session, by Docker or Podman, from a local image.

import process from 'node:process'
import type { Child, Runtime } from '../../../runtime/runtime.js'
import { within } from '../../../runtime/deadline.js'
import { findProgram } from '../../../runtime/path-folders.js'
import { type ProgramOutput, StderrHead, programOutput } from '../../host-program.js'
import {
  type MachineSpec,
  MachineStartError,
  type RuntimeProbe,
  type SandboxLanguage,
} from '../../runtime.js'
import type { HostMachine, MachineDriver, MachinePlace } from '../host-runtime.js'
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
    const terms = { name, image, place, spec }
    const child = engine.spawn(runArguments(terms, engine.keepsUser), {})
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

/** The engines in order of preference: the service uses the first that answers. */
const engines = ['docker', 'podman'] as const

/** A running engine answers within moments; one that is starting takes longer. */
const ANSWER_MS = 20_000

/** Variables that the command needs to find its engine; it gets no others. */
const PASSED =
  /^(?:PATH|HOME|USER|LANG|TMPDIR|TEMP|TMP|SystemRoot|USERPROFILE|APPDATA|ProgramData|DBUS_SESSION_BUS_ADDRESS|XDG_\w+|DOCKER_\w+|CONTAINERS?_\w+)$/i

export class ContainerEngine {
  readonly #runtime: Runtime
  readonly #program: string
  readonly #env: Readonly<Record<string, string>>
  readonly kind: (typeof engines)[number]

  constructor(runtime: Runtime, kind: (typeof engines)[number], program: string) {
    this.#runtime = runtime
    this.kind = kind
    this.#program = program
    this.#env = Object.fromEntries(
      Object.entries(runtime.env).flatMap(([name, value]) =>
        value !== undefined && PASSED.test(name) ? [[name, value]] : [],
      ),
    )
  }

  /** Rootless Podman maps users to different numbers inside. */
  get keepsUser(): boolean {
    return this.kind === 'podman' && process.getuid?.() !== 0
  }

  ask(args: readonly string[]): Promise<ProgramOutput> {
    return programOutput(this.#runtime, this.#spec(args, {}), ANSWER_MS)
  }

  /** `--env NAME` passes each of `variables` on. */
  spawn(args: readonly string[], variables: Readonly<Record<string, string>>): Child {
    return this.#runtime.spawn(this.#spec(args, variables))
  }

  /** A variable on the command line: its value is written only when the command itself would read a variable of that name. */
  written(name: string, value: string): string {
    return PASSED.test(name) ? `${name}=${value}` : name
  }

  #spec(
    args: readonly string[],
    variables: Readonly<Record<string, string>>,
  ): Parameters<Runtime['spawn']>[0] {
    return { command: this.#program, args, cwd: '/', env: { ...variables, ...this.#env } }
  }
}

/** The first engine that answers, or why none does. */
async function findEngine(runtime: Runtime, folders: readonly string[]): Promise<ContainerEngine | string> {
  const reasons: string[] = []
  for (const kind of engines) {
    const program = findProgram(kind, folders)
    if (program === undefined) continue
    const engine = new ContainerEngine(runtime, kind, program)
    const { code, stderr } = await engine.ask(['ps', '--quiet'])
    if (code === 0) return engine
    reasons.push(`${kind} does not answer: ${reasonIn(stderr)}`)
  }
  return reasons.length === 0 ? 'neither docker nor podman is installed' : reasons.join('; ')
}

/** The line that says why a command has failed: warnings may precede it, and advice may follow. */
function reasonIn(text: string): string {
  const lines = text.trim().split('\n')
  return lines.find((line) => /\b(?:error|cannot)\b/i.test(line)) ?? lines[0] ?? ''
}
