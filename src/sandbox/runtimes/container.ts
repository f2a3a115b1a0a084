// A container of Docker or Podman for each session, from a local image. The service starts programs in it one by one.

import { constants } from 'node:os'
import process from 'node:process'
import { Transform } from 'node:stream'
import type { Child, ChildExit, Runtime, SpawnSpec } from '../../runtime/runtime.js'
import { within } from '../../runtime/deadline.js'
import { Deferred } from '../../runtime/deferred.js'
import { findProgram } from '../../runtime/path-folders.js'
import type { SandboxTemplate, SandboxVolume } from '../../upstream/contracts/sandbox-config.js'
import { callMark } from '../agent-messages.js'
import { definedIn } from '../../text/json-object.js'
import { SIGNALLED } from '../processes.js'
import { type ProgramOutput, StderrHead, programOutput } from '../host-program.js'
import {
  type GuestCommand,
  type GuestExit,
  type GuestProcess,
  type MachineEnd,
  type MachineSpec,
  MachineStartError,
  RuntimeUnusable,
  type SandboxLanguage,
  noExit,
  stoppedEnd,
} from '../runtime.js'
import {
  type HostMachine,
  type MachineDriver,
  type MachinePlace,
  WORKSPACE,
  temporaryBytes,
} from './host-runtime.js'

export class ContainerDriver implements MachineDriver {
  readonly id = 'container'
  readonly isolation = 'container'
  readonly canLimitHosts = false
  readonly #runtime: Runtime
  readonly #templates: readonly TemplateImage[]
  readonly #programs: readonly string[]
  #engine: Promise<ContainerEngine> | undefined
  #starts = 0

  constructor(runtime: Runtime, templates: readonly TemplateImage[], programs: readonly string[]) {
    this.#runtime = runtime
    this.#templates = templates
    this.#programs = programs
  }

  async probe(): Promise<string> {
    const engine = await this.#found()
    const images = [...new Set(this.#templates.map(imageOf))]
    for (const image of images) if (await hasImage(engine, image)) return engine.kind
    const why = `${engine.kind} has none of the images ${images.join(', ')}, and none is fetched unasked`
    throw new RuntimeUnusable(why, `fetch one: ${engine.kind} pull ${images[0] ?? ''}`)
  }

  async start(spec: MachineSpec, place: MachinePlace): Promise<HostMachine> {
    const engine = await this.#found()
    if (spec.interpreter !== undefined)
      throw new MachineStartError(
        `the runtime container takes the interpreter of its image: take ${spec.interpreter} from the template`,
      )
    const image = imageOf(spec)
    if (!(await hasImage(engine, image)))
      throw new MachineStartError(
        `the image ${image} is not there: ${engine.kind} pull ${image}, or set image in the template`,
      )
    return this.#started(engine, image, spec, place)
  }

  /** Removes containers of dead owners that left folders on this host. Services on other hosts may use the same engine. */
  async removeRemains(owners: ReadonlySet<string>): Promise<void> {
    if (owners.size === 0) return
    const engine = await this.#found()
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

  /** @throws RuntimeUnusable */
  #found(): Promise<ContainerEngine> {
    this.#engine ??= findEngine(this.#runtime, this.#programs)
    return this.#engine
  }
}

async function hasImage(engine: ContainerEngine, image: string): Promise<boolean> {
  return (await engine.ask(['image', 'inspect', '--format', '{{.Id}}', image])).code === 0
}

function readiness({ stdout }: Child): Promise<boolean> {
  return new Promise((resolve) => {
    stdout.on('error', () => undefined)
    stdout.once('data', () => resolve(true))
    stdout.resume()
  })
}

export type TemplateImage = Pick<SandboxTemplate, 'language' | 'image'>

const usualImages: Readonly<Record<SandboxLanguage, string>> = {
  python: 'python:3-slim',
  node: 'node:22-slim',
}

function imageOf({ language, image }: TemplateImage): string {
  return image ?? usualImages[language]
}

/** The engines in order of preference. The service uses the first that answers. */
const engines = ['docker', 'podman'] as const

/** A running engine answers within moments. One that is starting takes longer. */
const ANSWER_MS = 20_000

/** The only variables that the command gets. It needs them to find its engine. */
const PASSED =
  /^(?:PATH|HOME|USER|LANG|TMPDIR|TEMP|TMP|SystemRoot|USERPROFILE|APPDATA|ProgramData|DBUS_SESSION_BUS_ADDRESS|XDG_\w+|DOCKER_\w+|CONTAINERS?_\w+)$/i

class ContainerEngine {
  readonly kind: (typeof engines)[number]
  readonly #runtime: Runtime
  readonly #program: string
  readonly #env: Readonly<Record<string, string>>

  constructor(runtime: Runtime, kind: (typeof engines)[number], program: string) {
    this.kind = kind
    this.#runtime = runtime
    this.#program = program
    const passed = Object.entries(definedIn(runtime.env)).filter(([name]) => PASSED.test(name))
    this.#env = Object.fromEntries(passed)
  }

  /** Rootless Podman maps users to different numbers inside. */
  get keepsUser(): boolean {
    return this.kind === 'podman' && process.getuid?.() !== 0
  }

  ask(args: readonly string[]): Promise<ProgramOutput> {
    return programOutput(this.#runtime, this.#spec(args, {}), ANSWER_MS)
  }

  spawn(args: readonly string[], variables: Readonly<Record<string, string>>): Child {
    return this.#runtime.spawn(this.#spec(args, variables))
  }

  /** A variable on the command line. Its value is included only if the command itself would read a variable of that name. */
  written(name: string, value: string): string {
    return PASSED.test(name) ? `${name}=${value}` : name
  }

  #spec(args: readonly string[], variables: Readonly<Record<string, string>>): SpawnSpec {
    return { command: this.#program, args, cwd: '/', env: { ...variables, ...this.#env } }
  }
}

async function findEngine(runtime: Runtime, folders: readonly string[]): Promise<ContainerEngine> {
  const reasons: string[] = []
  for (const kind of engines) {
    const program = findProgram(kind, folders)
    if (program === undefined) continue
    const engine = new ContainerEngine(runtime, kind, program)
    const { code, stderr } = await engine.ask(['ps', '--quiet'])
    if (code === 0) return engine
    reasons.push(`${kind} does not answer: ${reasonIn(stderr)}`)
  }
  const why = reasons.length === 0 ? 'neither docker nor podman is installed' : reasons.join('; ')
  throw new RuntimeUnusable(why, 'install Docker or Podman, and start it')
}

/** The line that says why a command has failed. Warnings may precede it, and advice may follow. */
function reasonIn(text: string): string {
  const lines = text.trim().split('\n')
  return lines.find((line) => /\b(?:error|cannot)\b/i.test(line)) ?? lines[0] ?? ''
}

/** The first program ends with its stdin. After this time the service asks the engine to remove the container. */
const STOP_MS = 5000

const interpreters = { python: 'python3', node: 'node' } as const

/** A container whose first program has reported that it is ready. */
class ContainerMachine implements HostMachine {
  readonly interpreter: readonly [string]
  readonly ended: Promise<MachineEnd>
  readonly memoryFolders: readonly string[] = []
  readonly #runtime: Runtime
  readonly #engine: ContainerEngine
  readonly #child: Child
  readonly #terms: ContainerTerms
  readonly #programs = new Set<ContainerProgram>()
  #calls = 0
  /** Why the machine must end. The first reason is kept. */
  #reason: MachineEnd | undefined

  /** `child` is the command that runs the container. */
  constructor(runtime: Runtime, engine: ContainerEngine, child: Child, terms: ContainerTerms) {
    this.#runtime = runtime
    this.#engine = engine
    this.#child = child
    this.#terms = terms
    this.interpreter = [interpreters[terms.spec.language]]
    this.ended = child.exited.then(() => this.#finish())
  }

  run({ program, args }: GuestCommand): GuestProcess {
    const { name, spec } = this.#terms
    const call = `${name}-${++this.#calls}`
    const variables = { HOME: WORKSPACE, ...spec.env, [callMark]: call }
    const named = Object.entries(variables).map(([each, value]) => this.#engine.written(each, value))
    const start = ['sh', '-c', START, 'sh', program, ...args]
    const command = this.#reason === undefined ? execArguments(name, named, start) : ['exec', name]
    const started = new ContainerProgram(this.#engine.spawn(command, variables), (script, of = call) => {
      void this.#engine.ask(execArguments(name, [], ['sh', '-c', script, 'sh', of]))
    })
    this.#programs.add(started)
    void started.exited.then(() => this.#programs.delete(started))
    return started
  }

  isBusy(): boolean {
    return this.#programs.size > 0
  }

  written(): undefined {}

  full(limit: string): void {
    void this.#end({ reason: 'disk', message: `${limit} was reached` })
  }

  stop(): Promise<void> {
    return this.#end(stoppedEnd)
  }

  async #end(reason: MachineEnd): Promise<void> {
    const [child, runtime] = [this.#child, this.#runtime]
    this.#reason ??= reason
    child.stdin.end()
    if ((await within(this.ended, STOP_MS, runtime)) !== undefined) return
    await this.#engine.ask(['rm', '--force', this.#terms.name])
    child.signal('SIGKILL')
    await this.ended
  }

  /** Kills the commands of programs, because they may not notice the end of their container. */
  #finish(): MachineEnd {
    this.#reason ??= { reason: 'died', message: 'its container has ended' }
    for (const program of this.#programs) program.abandon()
    return this.#reason
  }
}

const LABEL = 'mcps-sandbox'

/** Processes that belong to no program: the first one, its children, and the commands that end a call. */
const OWN_PROCESSES = 8

/**
 * The first program waits for orphaned processes. It ends with its stdin, and all others end with it.
 *
 * It prints a line when programs can be started.
 */
const FIRST = 'exec 3<&0; cat <&3 >/dev/null & exec 3<&-; echo ready; wait'

interface ContainerTerms {
  readonly name: string
  readonly image: string
  readonly place: MachinePlace
  readonly spec: MachineSpec
}

/**
 * `keepsUser`: the engine is rootless Podman, which maps users to different numbers. Single processes get no
 * limits, because an engine that gets one drops the limits of its configuration.
 */
function runArguments({ name, image, place, spec }: ContainerTerms, keepsUser: boolean): string[] {
  const { uid, gid } = place.identity ?? { uid: process.getuid?.() ?? 1000, gid: process.getgid?.() ?? 1000 }
  const { cpus, memoryMiB, pids } = spec.flavor
  const network = spec.network.kind === 'host' ? 'host' : 'none'
  const session = { hostPath: place.folder, guestPath: WORKSPACE, isReadOnly: false }
  return [
    ['run', '--rm', '--interactive', '--pull', 'never', '--name', name, '--label', `${LABEL}=${place.owner}`],
    ['--hostname', 'sandbox', '--network', network, '--log-driver', 'none'],
    ['--read-only', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges'],
    ['--user', `${uid}:${gid}`, ...(keepsUser ? ['--userns', 'keep-id'] : [])],
    ['--memory', `${memoryMiB}m`, '--memory-swap', `${memoryMiB}m`, '--cpus', String(cpus)],
    ['--pids-limit', String(pids + OWN_PROCESSES)],
    ['--tmpfs', `/tmp:rw,nosuid,nodev,size=${temporaryBytes(memoryMiB)},mode=1777`],
    [session, ...place.volumes].flatMap((volume) => ['--mount', mount(volume)]),
    ['--workdir', WORKSPACE, '--entrypoint', 'sh', image, '-c', FIRST],
  ].flat()
}

/** The values of variables are in the environment of the command, where other users cannot see them. */
function execArguments(name: string, variables: readonly string[], command: readonly string[]): string[] {
  const named = variables.flatMap((variable) => ['--env', variable])
  return ['exec', '--interactive', ...named, name, ...command]
}

function mount({ hostPath, guestPath, isReadOnly }: SandboxVolume): string {
  return ['type=bind', `source=${hostPath}`, `target=${guestPath}`, ...(isReadOnly ? ['readonly'] : [])]
    .map((value) => (/[",]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value))
    .join(',')
}

/**
 * Starts a program inside, because an engine neither reports nor kills single processes.
 *
 * The first line that the shell writes to stderr is its process number, which the program keeps when it replaces
 * the shell, or the reason of a failed start. All processes that the program starts inherit the mark of its call.
 */
const START = `command -v "$1" >/dev/null 2>&1 || { echo "$1: ENOENT" >&2; exit 127; }
echo "$$" >&2
exec "$@"`

const INTERRUPT = 'kill -INT "$1"'

/** Stops all processes of the call before it kills the first, so that none can start others in the meantime. */
const KILL = `marked() {
  for folder in /proc/[0-9]*; do
    tr '\\0' '\\n' 2>/dev/null < "$folder/environ" | grep -qx "${callMark}=$1" && echo "\${folder#/proc/}"
  done
}
known=
for round in 1 2 3 4 5 6 7 8; do
  found=$(marked "$1" 2>/dev/null)
  [ "$found" = "$known" ] && break
  known=$found
  kill -STOP $known
done
kill -KILL $known`

const LINE_BYTES_MAX = 4096

const LF = 0x0a

class ContainerProgram implements GuestProcess {
  readonly stdin: GuestProcess['stdin']
  readonly stdout: GuestProcess['stdout']
  readonly stderr: GuestProcess['stderr']
  readonly exited: Promise<GuestExit>
  readonly #child: Child
  readonly #runInside: (script: string, argument?: string) => void
  /** Resolves with the number of the process, or with undefined if it did not start. */
  readonly #pid = new Deferred<string | undefined>()
  #firstLine = ''
  #hasBegun = false

  /** `child` is the command. `runInside` runs a script with the given argument, or with the mark of the call. */
  constructor(child: Child, runInside: (script: string, argument?: string) => void) {
    this.#child = child
    this.#runInside = runInside
    const stderr = new Transform({
      transform: (chunk: Buffer, _encoding, done) =>
        done(null, this.#hasBegun ? chunk : this.#afterFirstLine(chunk)),
      flush: (done) => {
        this.#pid.resolve(undefined)
        done()
      },
    })
    child.stderr.on('error', () => stderr.end())
    this.stdin = child.stdin.on('error', () => undefined)
    this.stdout = child.stdout
    this.stderr = child.stderr.pipe(stderr)
    this.exited = child.exited.then((exit) => this.#exit(exit))
  }

  interrupt(): void {
    void this.#pid.promise.then((pid) => {
      if (pid !== undefined) this.#runInside(INTERRUPT, pid)
    })
  }

  kill(): void {
    this.#runInside(KILL)
  }

  /** Kills the command. The container is gone, so no process inside can end it. */
  abandon(): void {
    this.#child.signal('SIGKILL')
  }

  async #exit({ code, signal, spawnError }: ChildExit): Promise<GuestExit> {
    if (spawnError !== undefined) return { ...noExit, failure: spawnError }
    const pid = await this.#pid.promise
    if (pid === undefined) return { ...noExit, failure: this.#firstLine.trim() || 'it was not started' }
    const ended = Object.entries(constants.signals).find(([, number]) => SIGNALLED + number === code)
    return ended === undefined ? { code, signal } : { code: undefined, signal: ended[0] }
  }

  #afterFirstLine(chunk: Buffer): Buffer {
    const end = chunk.indexOf(LF)
    this.#firstLine += chunk.toString('utf8', 0, end === -1 ? chunk.length : end)
    if (end === -1 && this.#firstLine.length <= LINE_BYTES_MAX) return Buffer.alloc(0)
    if (!/^\d+$/.test(this.#firstLine)) {
      this.#firstLine += chunk.toString('utf8', Math.max(0, end)).slice(0, LINE_BYTES_MAX)
      return Buffer.alloc(0)
    }
    this.#hasBegun = true
    this.#pid.resolve(this.#firstLine)
    return chunk.subarray(end + 1)
  }
}
