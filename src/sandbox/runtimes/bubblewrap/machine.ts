// A machine of bubblewrap: one bwrap, and in it an agent that starts programs.

import { Buffer } from 'node:buffer'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import type { Duplex } from 'node:stream'
import { readProcFile, readProcess } from '../../../runtime/process-table.js'
import type { Child, LogSink, Runtime } from '../../../runtime/runtime.js'
import { within } from '../../../runtime/deadline.js'
import { Deferred } from '../../../runtime/deferred.js'
import type { FlavorLimits } from '../../../upstream/contracts/sandbox-config.js'
import { WAY_OUT } from '../../agent-messages.js'
import { Egress, PROXY_PORT, proxyVariables } from '../../egress/egress.js'
import {
  type GuestCommand,
  type GuestExit,
  type GuestProcess,
  type Machine,
  type MachineEnd,
  type MachineSpec,
  MachineStartError,
} from '../../runtime.js'
import { type MachinePlace, WORKSPACE } from '../host-runtime.js'
import { AgentLink, OutputRate } from './agent-link.js'
import {
  AGENT_PATH,
  FIRST_PATH,
  bwrapArguments,
  descriptors,
  firstProcess,
  guestFiles,
  optionBytes,
} from './arguments.js'
import { type GuestInterpreter, nodeItself } from './guest-interpreter.js'
import { MachinePipes } from './pipes.js'
import { StderrHead } from '../../host-program.js'
import { OWN_PROCESSES, MemoryKills, type Scopes, groupOf, scopeCommand } from './scope.js'
import { type ProcessorCalls, seccompFilter } from './seccomp.js'
import { errorText } from '../../../text/error-text.js'

/** The kernel ends the processes of a machine immediately, unless one of them waits for a device. */
const KILL_WAIT_MS = 2000

/** The findings of the probe on this host. */
export interface BubblewrapHost {
  readonly bwrap: string
  readonly prlimit: string
  readonly calls: ProcessorCalls
  /** Undefined where the memory of all programs of a machine cannot be limited. */
  readonly scopes: Scopes | undefined
  /** The bundle of the agent. */
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
  /** The name of its scope, which no other machine has. Programs inside see it, so it carries no fact. */
  readonly name: string
}

interface Started {
  readonly child: Child
  /** The host's number of the first process in the machine's namespace; when it ends, the kernel ends all others. */
  readonly first: number
  /** The folder of its control group. */
  readonly group: string | undefined
  readonly pipes: MachinePipes
  /** Undefined when programs reach no host, or use the network of this host. */
  readonly egress: Egress | undefined
}

export class BubblewrapMachine implements Machine {
  readonly workspace: string = WORKSPACE
  readonly interpreter: readonly [string, ...string[]]
  readonly ended: Promise<MachineEnd>
  /** Resolves when programs can be started; never resolves when the machine ends before. */
  readonly ready: Deferred<void> = new Deferred()
  readonly #terms: StartTerms
  readonly #child: Child
  readonly #first: number
  readonly #memoryKills: MemoryKills
  readonly #env: Readonly<Record<string, string>>
  readonly #egress: Egress | undefined
  readonly #link: AgentLink
  readonly #pipes: MachinePipes
  readonly #startedAt: string | undefined
  readonly #unwatch: () => void
  /** How often the memory limit had been reached before a program began. */
  readonly #marks = new WeakMap<GuestProcess, number>()
  /** Why the machine must end; the first reason counts. */
  #verdict: MachineEnd | undefined

  constructor(terms: StartTerms, { child, first, group, pipes, egress }: Started) {
    this.#terms = terms
    this.#child = child
    this.#first = first
    this.#memoryKills = new MemoryKills(group)
    this.#env = variables(terms.spec)
    this.#egress = egress
    this.#pipes = pipes
    this.interpreter = [terms.interpreter.program]
    this.#startedAt = readProcess(first)?.startedAt
    this.#link = new AgentLink(
      { input: child.stdin, output: child.stdout },
      pipes,
      new OutputRate(terms.runtime),
      {
        ready: () => this.ready.resolve(),
        broken: (how) =>
          this.#condemn({ reason: 'died', message: `what starts its programs was tampered with: ${how}` }),
        explain: (program, exit) => this.#explained(exit, this.#marks.get(program) ?? 0),
      },
    )
    this.#unwatch = this.#watchDisk()
    this.ended = child.exited.then(() => this.#finish())
  }

  run({ program, args }: GuestCommand): GuestProcess {
    const since = this.#memoryKills.count
    const started = this.#link.run({ program, args, env: this.#env })
    this.#marks.set(started, since)
    return started
  }

  async stop(): Promise<void> {
    this.#condemn({ reason: 'stopped', message: 'the session was stopped' })
    await this.ended
  }

  /** Programs inside cannot change the root of a machine, so paths below it lead to its own folders. */
  #watchDisk(): () => void {
    const { place, spec } = this.#terms
    const root = `/proc/${this.#first}/root`
    return place.disk.add({
      folder: place.folder,
      diskGiB: spec.flavor.diskGiB,
      heldBytes: place.heldBytes,
      isBusy: () => this.#link.running > 0,
      written: () => writtenIn(`${root}/proc`),
      memoryFolders: [`${root}/tmp`, `${root}/dev/shm`],
      full: (limit) => this.#condemn({ reason: 'disk', message: `${limit} was reached` }),
    })
  }

  /** Names the limit that ended a program, or prevented its start. */
  #explained(exit: GuestExit, since: number): GuestExit {
    const { pids } = this.#terms.spec.flavor
    if (exit.failure?.endsWith('EAGAIN') === true) return { ...exit, limit: `the limit of ${pids} processes` }
    return exit.signal === 'SIGKILL' && this.#memoryKills.count > since
      ? { ...exit, limit: this.#memoryLimit }
      : exit
  }

  get #memoryLimit(): string {
    return `the memory limit of ${this.#terms.spec.flavor.memoryMiB} MiB`
  }

  #condemn(verdict: MachineEnd): void {
    if (this.#verdict !== undefined) return
    this.#verdict = verdict
    void this.#kill()
  }

  /** When the first process of the namespace ends, the kernel ends all others in it before bwrap ends. */
  async #kill(): Promise<void> {
    const [child, first, { runtime }] = [this.#child, this.#first, this.#terms]
    if (this.#startedAt !== undefined && readProcess(first)?.startedAt === this.#startedAt) killProcess(first)
    if ((await within(child.exited, KILL_WAIT_MS, runtime)) === undefined) child.signal('SIGKILL')
  }

  async #finish(): Promise<MachineEnd> {
    this.#unwatch()
    const end = this.#verdict ?? this.#ownEnd()
    this.#memoryKills.close()
    this.#egress?.end()
    this.#link.end(exitWith(end))
    await this.#pipes.remove()
    return end
  }

  /** By default systemd ends a scope in which the kernel has ended a process for lack of memory. */
  #ownEnd(): MachineEnd {
    return this.#memoryKills.count > 0
      ? { reason: 'memory', message: `${this.#memoryLimit} was reached` }
      : { reason: 'died', message: 'its first program was ended from inside' }
  }
}

function killProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // The process has ended.
  }
}

/** The bytes that processes have written, by their own list of processes. */
function writtenIn(proc: string): number {
  let bytes = 0
  for (const name of namesIn(proc)) {
    if (!/^\d+$/.test(name)) continue
    const [, written] = /^write_bytes: (\d+)$/m.exec(readProcFile(`${proc}/${name}/io`)) ?? []
    bytes += Number(written ?? 0)
  }
  return bytes
}

function namesIn(path: string): string[] {
  try {
    return readdirSync(path)
  } catch {
    return []
  }
}

/** The exit of a program whose machine is gone. */
function exitWith({ reason, message }: MachineEnd): GuestExit {
  const none = { code: undefined, signal: undefined }
  const failure = `the machine of the session has ended: ${message}`
  return reason === 'disk' || reason === 'memory'
    ? { ...none, failure, limit: message.replace(/ was reached$/, '') }
    : { ...none, failure }
}

// Starts one machine: bwrap, its input, and the limits around it.

/** Flags of the agent, which is small; programs may use more memory. */
const AGENT_FLAGS = [
  '--max-old-space-size=64',
  '--max-semi-space-size=1',
  '--v8-pool-size=0',
  '--no-warnings',
]

/**
 * When memory runs out, the kernel ends programs of machines before those of the host. They get the processor time that the host
 * leaves. `env -i` drops the service's variables.
 */
const OUTSIDE = 'echo 1000 >/proc/self/oom_score_adj; exec nice -n 10 /usr/bin/env -i "$@"'

/** The first process of a machine waits for processes without parents; it ends with the agent, and all others end with it. */
const FIRST = 'exec 3<&0 </dev/null; "$@" <&3 3<&- & exec 3<&- >/dev/null 2>&1; wait'

/** `sun_path` of unix(7), without the NUL. */
const SOCKET_PATH_MAX = 107

const MiB = 1024 * 1024
const GiB = 1024 * MiB

/** @throws MachineStartError */
export async function startMachine(terms: StartTerms): Promise<BubblewrapMachine> {
  const { runtime, place } = terms
  const pipes = new MachinePipes(`${place.folder}.pipes`, runtime, place.identity)
  try {
    return await machineOf(terms, pipes, await egressOf(terms, pipes))
  } catch (error) {
    await pipes.remove()
    throw error
  }
}

async function machineOf(
  terms: StartTerms,
  pipes: MachinePipes,
  egress: Egress | undefined,
): Promise<BubblewrapMachine> {
  const { spec, runtime } = terms
  const child = spawned(terms)
  const stderr = new StderrHead(child.stderr)
  try {
    const first = await begun(terms, child, pipes)
    const group = terms.host.scopes && groupOf(child.pid ?? 0)
    const machine = new BubblewrapMachine(terms, { child, first, group, pipes, egress })
    const started = Promise.race([machine.ready.promise.then(() => true), machine.ended.then(() => false)])
    const isReady = await within(started, spec.startTimeoutMs, runtime)
    if (isReady === true) return machine
    await machine.stop()
    throw new MachineStartError(
      isReady === undefined ? `it took longer than ${spec.startTimeoutMs} ms` : 'its agent did not start',
    )
  } catch (error) {
    child.signal('SIGKILL')
    await child.exited
    egress?.end()
    const message = errorText(error)
    throw new MachineStartError(`the machine could not be started: ${message}${stderr.shown}`)
  }
}

/** Writes the input of bwrap, and returns the host's number of the first process. */
async function begun(
  { runtime, host, spec, place, interpreter }: StartTerms,
  child: Child,
  pipes: MachinePipes,
): Promise<number> {
  const options = bwrapArguments({
    sessionFolder: place.folder,
    pipesFolder: pipes.folder,
    memoryMiB: spec.flavor.memoryMiB,
    network: spec.network,
    volumes: place.volumes,
    readOnlyPaths: [...new Set([...nodeItself().paths, ...interpreter.paths])],
  })
  give(child, descriptors.args, optionBytes(options))
  give(child, descriptors.seccomp, seccompFilter(host.calls))
  give(child, descriptors.agent, host.agent)
  give(child, descriptors.first, host.shell)
  for (const [index, [, content]] of guestFiles.entries()) give(child, descriptors.firstFile + index, content)
  const pid = await within(
    Promise.race([firstProcess(pipe(child, descriptors.info)), child.exited.then(() => undefined)]),
    spec.startTimeoutMs,
    runtime,
  )
  if (pid === undefined) throw new MachineStartError('bwrap did not start it')
  return pid
}

function spawned({ runtime, host, spec, place: { identity, volumes }, name }: StartTerms): Child {
  const port = spec.network.kind === 'allow' ? [String(PROXY_PORT)] : []
  const agent = [nodeItself().program, ...AGENT_FLAGS, AGENT_PATH, ...port]
  const inside = [FIRST_PATH, '-c', FIRST, 'sh', ...agent]
  const limited = [
    [host.prlimit, ...limits(spec.flavor), '--', host.bwrap, '--args', String(descriptors.args), '--'],
    // The kernel counts processes for each user namespace, so this limit is set inside.
    [host.prlimit, `--nproc=${spec.flavor.pids + OWN_PROCESSES}`, '--', ...inside],
  ].flat()
  // Only root can ask the systemd of the system; `setpriv` switches to the user of the session after that.
  const user =
    host.scopes === undefined || identity === undefined
      ? []
      : ['setpriv', '--reuid', String(identity.uid), '--regid', String(identity.gid), '--clear-groups', '--']
  const scope = host.scopes === undefined ? [] : [...scopeCommand(host.scopes, name, spec.flavor), ...user]
  const [command = '', ...args] = [...scope, '/bin/sh', '-c', OUTSIDE, 'sh', ...limited]
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

/** Limits of every process of a machine, the first one included. The filter of system calls keeps the core limit of one byte. */
function limits({ memoryMiB, diskGiB }: FlavorLimits): string[] {
  return [
    '--core=1',
    `--data=${memoryMiB * MiB}`,
    `--fsize=${Math.floor(diskGiB * GiB)}`,
    '--nofile=1024',
    '--memlock=65536',
  ]
}

/** Variables of every program; `pip` and `npm` install packages into the workspace. */
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

function pipe(child: Child, descriptor: number): Duplex | undefined {
  return child.pipes?.[descriptor - descriptors.args]
}

function give(child: Child, descriptor: number, content: string | Uint8Array): void {
  // The pipe is read to its end, so that its descriptor is closed when bwrap has closed its side.
  pipe(child, descriptor)
    ?.on('error', () => undefined)
    .resume()
    .end(content)
}
