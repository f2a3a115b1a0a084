// A machine that is a container; the service starts programs in it one by one.

import { constants } from 'node:os'
import process from 'node:process'
import { type Readable, Transform } from 'node:stream'
import { SIGNALLED } from '../../exit-code.js'
import type { Child, Runtime } from '../../../runtime/runtime.js'
import { within } from '../../../runtime/deadline.js'
import { Deferred } from '../../../runtime/deferred.js'
import type { FlavorLimits } from '../../../upstream/contracts/sandbox-config.js'
import { callMark } from '../../agent-messages.js'
import type {
  GuestCommand,
  GuestExit,
  GuestProcess,
  MachineEnd,
  MachineSpec,
  MachineVolume,
} from '../../runtime.js'
import { type HostMachine, type MachinePlace, WORKSPACE, temporaryBytes } from '../host-runtime.js'
import type { ContainerEngine } from './container-engine.js'

/** The first program ends with its stdin; after this time the service asks the engine to remove the container. */
const STOP_MS = 5000

/** The interpreters that an image must have. */
const interpreters = { python: 'python3', node: 'node' } as const

/** A container whose first program has reported that it is ready. */
export class ContainerMachine implements HostMachine {
  readonly memoryFolders = []
  readonly workspace: string = WORKSPACE
  readonly interpreter: readonly [string]
  readonly ended: Promise<MachineEnd>
  readonly #runtime: Runtime
  readonly #engine: ContainerEngine
  readonly #child: Child
  readonly #terms: ContainerTerms
  readonly #programs = new Set<ContainerProcess>()
  #calls = 0
  #isStopped = false
  #full: string | undefined

  /** `child` is the command that runs the container. */
  constructor(runtime: Runtime, engine: ContainerEngine, child: Child, terms: ContainerTerms) {
    this.#runtime = runtime
    this.#engine = engine
    this.#child = child
    this.#terms = terms
    this.interpreter = [interpreters[terms.spec.language]]
    this.ended = child.exited.then(() => this.#finish())
  }

  run(command: GuestCommand): GuestProcess {
    const engine = this.#engine
    const { name, spec } = this.#terms
    const call = `${name}-${++this.#calls}`
    const variables = { HOME: WORKSPACE, ...spec.env, [callMark]: call }
    const named = Object.entries(variables).map(([each, value]) => engine.written(each, value))
    const args = this.#isStopped ? ['exec', name] : execArguments(name, named, startCommand(command))
    const started = new ContainerProcess(engine.spawn(args, variables), {
      interrupt: (pid) => this.#inside(interruptCommand(pid)),
      kill: () => this.#inside(killCommand(call)),
    })
    this.#programs.add(started)
    void started.exited.then(() => this.#programs.delete(started))
    return started
  }

  async stop(): Promise<void> {
    const [child, runtime] = [this.#child, this.#runtime]
    this.#isStopped = true
    child.stdin.end()
    if ((await within(this.ended, STOP_MS, runtime)) !== undefined) return
    await this.#engine.ask(['rm', '--force', this.#terms.name])
    child.signal('SIGKILL')
    await this.ended
  }

  /** Kills the commands of programs, which may not notice the end of their container. */
  #finish(): MachineEnd {
    const isStopped = this.#isStopped && this.#full === undefined
    this.#isStopped = true
    for (const program of this.#programs) program.abandon()
    if (this.#full !== undefined) return { reason: 'disk', message: `${this.#full} was reached` }
    return isStopped
      ? { reason: 'stopped', message: 'the session was stopped' }
      : { reason: 'died', message: 'its container has ended' }
  }

  isBusy(): boolean {
    return this.#programs.size > 0
  }

  written(): undefined {}

  full(limit: string): void {
    this.#full ??= limit
    void this.stop()
  }

  #inside(command: readonly string[]): void {
    void this.#engine.ask(execArguments(this.#terms.name, [], command))
  }
}

interface Endings {
  interrupt(pid: string): void
  kill(): void
}

class ContainerProcess implements GuestProcess {
  readonly stdin: GuestProcess['stdin']
  readonly stdout: GuestProcess['stdout']
  readonly stderr: GuestProcess['stderr']
  readonly exited: Promise<GuestExit>
  readonly #child: Child
  readonly #start: ShellStart
  readonly #endings: Endings

  constructor(child: Child, endings: Endings) {
    this.#child = child
    this.#endings = endings
    this.#start = new ShellStart(child.stderr)
    this.stdin = child.stdin
    this.stdout = child.stdout
    this.stderr = this.#start.stderr
    this.stdin.on('error', () => undefined)
    this.exited = child.exited.then(({ code, signal, spawnError }) =>
      this.#start.exit({ code, signal, ...(spawnError !== undefined && { failure: spawnError }) }),
    )
  }

  interrupt(): void {
    void this.#start.pid.promise.then((pid) => {
      if (pid !== undefined) this.#endings.interrupt(pid)
    })
  }

  kill(): void {
    this.#endings.kill()
  }

  /** Kills the command: the container is gone, so no process inside can end it. */
  abandon(): void {
    this.#child.signal('SIGKILL')
  }
}

/** The label and name prefix by which the service finds its containers. */
export const LABEL = 'mcps-sandbox'

/** Processes that belong to no program: the first one, its children, and the commands that end a call. */
const OWN_PROCESSES = 8

/**
 * The first program waits for processes without parents; it ends with its stdin, and all others end with it.
 *
 * It prints a line when programs can be started.
 */
const FIRST = 'exec 3<&0; cat <&3 >/dev/null & exec 3<&-; echo ready; wait'

export interface ContainerTerms {
  readonly name: string
  readonly image: string
  readonly place: MachinePlace
  /** Whether the engine is rootless Podman, which maps users to different numbers. */
  readonly keepsUser: boolean
  readonly spec: MachineSpec
}

export function runArguments(terms: ContainerTerms): string[] {
  const { name, image, place, keepsUser, spec } = terms
  const { uid, gid } = place.identity ?? { uid: process.getuid?.() ?? 1000, gid: process.getgid?.() ?? 1000 }
  return [
    ['run', '--rm', '--interactive', '--pull', 'never', '--name', name, '--label', `${LABEL}=${place.owner}`],
    [
      '--hostname',
      'sandbox',
      '--network',
      spec.network.kind === 'host' ? 'host' : 'none',
      '--log-driver',
      'none',
    ],
    ['--read-only', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges'],
    ['--user', `${uid}:${gid}`, ...(keepsUser ? ['--userns', 'keep-id'] : [])],
    limits(spec.flavor),
    folders(spec.flavor, place),
    ['--workdir', WORKSPACE, '--entrypoint', 'sh', image, '-c', FIRST],
  ].flat()
}

/** The values of variables are in the environment of the command, where other users cannot see them. */
function execArguments(name: string, variables: Iterable<string>, command: readonly string[]): string[] {
  const named = [...variables].flatMap((variable) => ['--env', variable])
  return ['exec', '--interactive', ...named, name, ...command]
}

/** Sets no limits of single processes: an engine that gets one drops those of its configuration. */
function limits({ cpus, memoryMiB, pids }: FlavorLimits): string[] {
  return [
    ['--memory', `${memoryMiB}m`, '--memory-swap', `${memoryMiB}m`, '--cpus', String(cpus)],
    ['--pids-limit', String(pids + OWN_PROCESSES)],
  ].flat()
}

function folders({ memoryMiB }: FlavorLimits, { folder, volumes }: MachinePlace): string[] {
  const bytes = temporaryBytes(memoryMiB)
  const session = { hostPath: folder, guestPath: WORKSPACE, isReadOnly: false }
  return [
    '--tmpfs',
    `/tmp:rw,nosuid,nodev,size=${bytes},mode=1777`,
    ...[session, ...volumes].flatMap((volume) => ['--mount', mount(volume)]),
  ]
}

/** A line of comma-separated values. */
function mount({ hostPath, guestPath, isReadOnly }: MachineVolume): string {
  return ['type=bind', `source=${hostPath}`, `target=${guestPath}`, ...(isReadOnly ? ['readonly'] : [])]
    .map((value) => (/[",]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value))
    .join(',')
}

// A shell inside starts programs, because an engine neither reports nor kills single processes.
//
// The first line that the shell writes to stderr is its process number, which the program keeps when it replaces the shell, or
// the reason of a failed start. All processes that the program starts inherit the mark of its call.

const START = `command -v "$1" >/dev/null 2>&1 || { echo "$1: ENOENT" >&2; exit 127; }
echo "$$" >&2
exec "$@"`

/** Stops all processes of the call before it kills the first, so that none of them starts others meanwhile. */
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

/** The most bytes of stderr that are held until its first line is complete. */
const LINE_BYTES_MAX = 4096

const LF = 0x0a

function startCommand({ program, args }: GuestCommand): string[] {
  return ['sh', '-c', START, 'sh', program, ...args]
}

function interruptCommand(pid: string): string[] {
  return ['sh', '-c', 'kill -INT "$1"', 'sh', pid]
}

function killCommand(call: string): string[] {
  return ['sh', '-c', KILL, 'sh', call]
}

/** The line that the shell writes before the program starts. */
class ShellStart {
  /** The stderr of the program. */
  readonly stderr: Readable
  /** Resolves with the number of the process; undefined when it was not started. */
  readonly pid: Deferred<string | undefined> = new Deferred()
  #said = ''
  #isTold = false

  constructor(source: Readable) {
    const rest = new Transform({
      transform: (chunk: Buffer, _encoding, done) => done(null, this.#isTold ? chunk : this.#take(chunk)),
      flush: (done) => {
        this.pid.resolve(undefined)
        done()
      },
    })
    source.on('error', () => rest.end())
    this.stderr = source.pipe(rest)
  }

  /** The exit of the program, from the exit of its command. */
  async exit({ code, signal, failure }: GuestExit): Promise<GuestExit> {
    const none = { code: undefined, signal: undefined }
    if (failure !== undefined) return { ...none, failure }
    const pid = await this.pid.promise
    if (pid === undefined) return { ...none, failure: this.#said.trim() || 'it was not started' }
    const ended = Object.entries(constants.signals).find(([, number]) => SIGNALLED + number === code)
    return ended === undefined ? { code, signal } : { code: undefined, signal: ended[0] }
  }

  #take(chunk: Buffer): Buffer {
    const end = chunk.indexOf(LF)
    this.#said += chunk.toString('utf8', 0, end === -1 ? chunk.length : end)
    if (end === -1 && this.#said.length <= LINE_BYTES_MAX) return Buffer.alloc(0)
    if (!/^\d+$/.test(this.#said)) {
      this.#said += chunk.toString('utf8', Math.max(0, end)).slice(0, LINE_BYTES_MAX)
      return Buffer.alloc(0)
    }
    this.#isTold = true
    this.pid.resolve(this.#said)
    return chunk.subarray(end + 1)
  }
}
