// A machine of bubblewrap: one bwrap, and in it an agent that starts programs.

import type { Buffer } from 'node:buffer'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { processIds, readProcFile, readProcess, signalProcess } from '../../../runtime/process-table.js'
import type { Child, LogSink, Runtime } from '../../../runtime/runtime.js'
import { within } from '../../../runtime/deadline.js'
import type { FlavorLimits } from '../../../upstream/contracts/sandbox-config.js'
import { WAY_OUT } from '../../agent-messages.js'
import { Egress, PROXY_PORT, proxyVariables } from '../../egress/egress.js'
import {
  type GuestCommand,
  type GuestExit,
  type GuestProcess,
  type MachineEnd,
  type MachineSpec,
  MachineStartError,
  noExit,
  stoppedEnd,
} from '../../runtime.js'
import { type HostMachine, type MachinePlace, WORKSPACE } from '../host-runtime.js'
import { AgentLink } from './agent-link.js'
import {
  AGENT_PATH,
  type Bwrap,
  FIRST_PATH,
  descriptors,
  firstProcess,
  writeAndDrain,
  guestFiles,
  machineOptions,
  optionBytes,
} from './bwrap.js'
import { type GuestInterpreter, nodeItself } from './guest-interpreter.js'
import { MachinePipes } from './machine-program.js'
import { StderrHead } from '../../host-program.js'
import { OWN_PROCESSES, MemoryKills, type Scopes, groupOf, scopeCommand } from './scope.js'
import { errorText } from '../../../text/error-text.js'

/** The kernel ends the processes of a machine immediately, unless one of them waits for a device. */
const KILL_WAIT_MS = 2000

export interface BubblewrapHost extends Bwrap {
  /** Undefined if the memory of all programs of a machine together cannot be limited. */
  readonly scopes: Scopes | undefined
  readonly agent: Buffer
  /** A shell, which is the first process of each machine. */
  readonly shell: Buffer
}

interface StartTerms {
  readonly runtime: Runtime
  readonly log: LogSink
  readonly host: BubblewrapHost
  readonly spec: MachineSpec
  readonly place: MachinePlace
  readonly interpreter: GuestInterpreter
  /** The unique name of the scope. Programs inside see it, so it reveals nothing. */
  readonly name: string
}

class BubblewrapMachine implements HostMachine {
  readonly interpreter: readonly [string, ...string[]]
  readonly ended: Promise<MachineEnd>
  readonly memoryFolders: readonly string[]
  readonly link: AgentLink
  readonly #spec: MachineSpec
  readonly #runtime: Runtime
  readonly #child: Child
  readonly #first: number
  readonly #startedAt: string | undefined
  readonly #memoryKills: MemoryKills
  readonly #env: Readonly<Record<string, string>>
  /** Why the machine must end. The first reason is kept. */
  #reason: MachineEnd | undefined

  /** `first` is the host's number of the first process inside. `clean` removes the resources of the machine. */
  constructor(
    { runtime, host, spec, interpreter }: StartTerms,
    child: Child,
    first: number,
    pipes: MachinePipes,
    clean: () => Promise<void>,
  ) {
    this.interpreter = [interpreter.program]
    // Programs inside cannot change the root of a machine, so paths below it lead to its own folders.
    this.memoryFolders = ['/tmp', '/dev/shm'].map((path) => `/proc/${first}/root${path}`)
    this.#spec = spec
    this.#runtime = runtime
    this.#child = child
    this.#first = first
    this.#startedAt = readProcess(first)?.startedAt
    this.#memoryKills = new MemoryKills(host.scopes && groupOf(child.pid ?? 0))
    this.#env = variables(spec)
    this.link = new AgentLink(child, pipes, runtime, (how) =>
      this.#end({
        reason: 'died',
        message: `the program that starts its programs was changed from inside: ${how}`,
      }),
    )
    this.ended = child.exited.then(async () => {
      const end = this.#reason ?? this.#ownEnd()
      this.#memoryKills.close()
      // Calls fail after the machine has ended, so that the next call of the session starts another one.
      await clean().finally(() => this.link.end(exitWith(end)))
      return end
    })
  }

  run({ program, args }: GuestCommand): GuestProcess {
    const since = this.#memoryKills.count
    return this.link.run({ program, args, env: this.#env }, (exit) => this.#explained(exit, since))
  }

  isBusy(): boolean {
    return this.link.running > 0
  }

  written(): number {
    return writtenIn(`/proc/${this.#first}/root/proc`)
  }

  full(limit: string): void {
    this.#end({ reason: 'disk', message: `${limit} was reached` })
  }

  async stop(): Promise<void> {
    this.#end(stoppedEnd)
    await this.ended
  }

  /** Adds the limit that ended a program since the count of kills `since`, or that prevented its start. */
  #explained(exit: GuestExit, since: number): GuestExit {
    if (exit.failure?.endsWith('EAGAIN') === true)
      return { ...exit, limit: `the limit of ${this.#spec.flavor.pids} processes` }
    const isMemory = exit.signal === 'SIGKILL' && this.#memoryKills.count > since
    return isMemory ? { ...exit, limit: this.#memoryLimit } : exit
  }

  get #memoryLimit(): string {
    return `the memory limit of ${this.#spec.flavor.memoryMiB} MiB`
  }

  #end(reason: MachineEnd): void {
    if (this.#reason !== undefined) return
    this.#reason = reason
    void this.#kill()
  }

  /** When the first process of the namespace ends, the kernel ends all others in it before bwrap ends. */
  async #kill(): Promise<void> {
    const [child, first] = [this.#child, this.#first]
    if (this.#startedAt !== undefined && readProcess(first)?.startedAt === this.#startedAt)
      signalProcess(first, 'SIGKILL')
    if ((await within(child.exited, KILL_WAIT_MS, this.#runtime)) === undefined) child.signal('SIGKILL')
  }

  /** By default systemd ends a scope in which the kernel has ended a process for lack of memory. */
  #ownEnd(): MachineEnd {
    return this.#memoryKills.count > 0
      ? { reason: 'memory', message: `${this.#memoryLimit} was reached` }
      : { reason: 'died', message: 'its first program was ended from inside' }
  }
}

/** The bytes that the processes of a machine have written, from the `/proc` of the machine. */
function writtenIn(proc: string): number {
  try {
    const written = processIds(proc).map((pid) =>
      Number(/^write_bytes: (\d+)$/m.exec(readProcFile(`${proc}/${pid}/io`))?.[1] ?? 0),
    )
    return written.reduce((sum, bytes) => sum + bytes, 0)
  } catch {
    // The machine has ended.
    return 0
  }
}

function exitWith({ reason, message }: MachineEnd): GuestExit {
  const failure = `the machine of the session has ended: ${message}`
  const isLimit = reason === 'disk' || reason === 'memory'
  return {
    ...noExit,
    failure,
    ...(isLimit && { limit: message.replace(/ was reached$/, '') }),
  }
}

/** Flags of the agent, which needs little memory. Programs may use more. */
const AGENT_FLAGS = [
  '--max-old-space-size=64',
  '--max-semi-space-size=1',
  '--v8-pool-size=0',
  '--no-warnings',
]

/**
 * If memory runs out, the kernel ends programs of machines before those of the host. They get the processor time
 * that the host leaves. `env -i` drops the service's variables.
 */
const HOST_WRAPPER = 'echo 1000 >/proc/self/oom_score_adj; exec nice -n 10 /usr/bin/env -i "$@"'

/** The first process of a machine waits for orphaned processes. It ends with the agent, and all others end with it. */
const INIT_SCRIPT = 'exec 3<&0 </dev/null; "$@" <&3 3<&- & exec 3<&- >/dev/null 2>&1; wait'

/** `sun_path` of unix(7), without the NUL. */
const SOCKET_PATH_MAX = 107

const MiB = 1024 * 1024
const GiB = 1024 * MiB

export async function startMachine(terms: StartTerms): Promise<HostMachine> {
  const { runtime, place } = terms
  const pipes = new MachinePipes(`${place.folder}.pipes`, runtime, place.identity)
  let egress: Egress | undefined
  const clean = async (): Promise<void> => {
    egress?.end()
    await pipes.remove()
  }
  try {
    egress = await egressOf(terms, pipes)
    return await machineOf(terms, pipes, clean)
  } catch (error) {
    await clean()
    throw error
  }
}

async function machineOf(
  terms: StartTerms,
  pipes: MachinePipes,
  clean: () => Promise<void>,
): Promise<HostMachine> {
  const { spec, runtime } = terms
  const child = spawned(terms)
  const stderr = new StderrHead(child.stderr)
  const inTime = <T>(started: Promise<T>): Promise<T | undefined> =>
    within(started, spec.startTimeoutMs, runtime)
  try {
    giveInput(terms, child, pipes)
    const first = await inTime(
      Promise.race([firstProcess(pipe(child, descriptors.info)), child.exited.then(() => undefined)]),
    )
    if (first === undefined) throw new Error('bwrap did not start it')
    const machine = new BubblewrapMachine(terms, child, first, pipes, clean)
    const started = [machine.link.ready.promise.then(() => true), machine.ended.then(() => false)]
    const isReady = await inTime(Promise.race(started))
    if (isReady === true) return machine
    await machine.stop()
    const late = `it took longer than ${spec.startTimeoutMs} ms`
    throw new Error(isReady === undefined ? late : 'its agent did not start')
  } catch (error) {
    child.signal('SIGKILL')
    await child.exited
    throw new MachineStartError(`the machine could not be started: ${errorText(error)}${stderr.shown}`)
  }
}

function giveInput(
  { host, spec, place, interpreter }: StartTerms,
  child: Child,
  { folder }: MachinePipes,
): void {
  const options = machineOptions({
    sessionFolder: place.folder,
    pipesFolder: folder,
    memoryMiB: spec.flavor.memoryMiB,
    network: spec.network,
    volumes: place.volumes,
    readOnlyPaths: [...new Set([...nodeItself().paths, ...interpreter.paths])],
  })
  writeAndDrain(pipe(child, descriptors.args), optionBytes(options))
  writeAndDrain(pipe(child, descriptors.seccomp), host.filter)
  writeAndDrain(pipe(child, descriptors.agent), host.agent)
  writeAndDrain(pipe(child, descriptors.first), host.shell)
  for (const [index, [, content]] of guestFiles.entries())
    writeAndDrain(pipe(child, descriptors.firstFile + index), content)
}

function pipe(child: Child, descriptor: number): Duplex | undefined {
  return child.pipes?.[descriptor - descriptors.args]
}

function spawned({ runtime, host, spec, place: { identity, volumes }, name }: StartTerms): Child {
  const port = spec.network.kind === 'allow' ? [String(PROXY_PORT)] : []
  const agent = [nodeItself().program, ...AGENT_FLAGS, AGENT_PATH, ...port]
  const inside = [FIRST_PATH, '-c', INIT_SCRIPT, 'sh', ...agent]
  const limited = [
    [host.prlimit, ...limits(spec.flavor), '--', host.bwrap, '--args', String(descriptors.args), '--'],
    // The kernel counts processes for each user namespace, so this limit is set inside.
    [host.prlimit, `--nproc=${spec.flavor.pids + OWN_PROCESSES}`, '--', ...inside],
  ].flat()
  // Only root can ask the systemd of the system. After that, `setpriv` switches to the user of the session.
  const user =
    host.scopes === undefined || identity === undefined
      ? []
      : ['setpriv', '--reuid', String(identity.uid), '--regid', String(identity.gid), '--clear-groups', '--']
  const scope = host.scopes === undefined ? [] : [...scopeCommand(host.scopes, name, spec.flavor), ...user]
  const [command = '', ...args] = [...scope, '/bin/sh', '-c', HOST_WRAPPER, 'sh', ...limited]
  return runtime.spawn({
    command,
    args,
    cwd: '/',
    env: host.scopes?.env ?? {},
    pipes: descriptors.firstFile - descriptors.args + guestFiles.length,
    descriptors: volumes.map(({ descriptor }) => descriptor),
    ...(host.scopes === undefined && identity !== undefined && { identity }),
  })
}

/** Limits of every process of a machine. The filter of system calls protects the core limit of one byte. */
function limits({ memoryMiB, diskGiB }: FlavorLimits): string[] {
  return [
    '--core=1',
    `--data=${memoryMiB * MiB}`,
    `--fsize=${Math.floor(diskGiB * GiB)}`,
    '--nofile=1024',
    '--memlock=65536',
  ]
}

/** Variables of every program. `pip` and `npm` install packages into the workspace. */
function variables({ env, network }: MachineSpec): Record<string, string> {
  return {
    PATH: `${WORKSPACE}/.local/bin:/usr/local/bin:/usr/bin:/bin`,
    HOME: WORKSPACE,
    USER: 'sandbox',
    LOGNAME: 'sandbox',
    SHELL: '/bin/sh',
    LANG: 'C.UTF-8',
    TMPDIR: '/tmp',
    PIP_BREAK_SYSTEM_PACKAGES: '1',
    npm_config_prefix: `${WORKSPACE}/.local`,
    ...(network.kind === 'allow' && proxyVariables()),
    ...env,
  }
}

async function egressOf(
  { runtime, log, spec: { network, sessionName } }: StartTerms,
  pipes: MachinePipes,
): Promise<Egress | undefined> {
  if (network.kind !== 'allow') return undefined
  const egress = new Egress(network.hosts, `session ${sessionName}`, runtime, log)
  const path = join(pipes.folder, WAY_OUT)
  if (path.length > SOCKET_PATH_MAX)
    throw new MachineStartError(
      `the path of the state folder is too long for network.allow: a socket has a path of ${SOCKET_PATH_MAX} characters`,
    )
  await egress.listen(path)
  pipes.hand(path)
  return egress
}
