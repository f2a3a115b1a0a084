// Starting one machine: bwrap, what it reads, and the limits around it.

import type { FlavorLimits } from '../../../upstream/contracts/sandbox-config.js'
import { Buffer } from 'node:buffer'
import type { Duplex } from 'node:stream'
import type { Child, LogSink, Runtime } from '../../../runtime/runtime.js'
import { within } from '../../../runtime/within.js'
import { Egress } from '../../egress/egress.js'
import { StderrHead } from '../stderr-head.js'
import type { DiskWatch } from '../disk-watch.js'
import { type MachineSpec, MachineStartError } from '../../runtime.js'
import type { OpenVolume } from '../../volumes.js'
import { AGENT_PATH, FIRST_PATH, WORKSPACE, bwrapArguments, descriptors, guestFiles } from './arguments.js'
import { type GuestInterpreter, nodeItself, rootEntries } from './guest-interpreter.js'
import type { HostIdentity } from './identities.js'
import { BubblewrapMachine } from './machine.js'
import { PROXY_PORT, proxyVariables } from './proxy-variables.js'
import { MachineGroup, OWN_PROCESSES, type Scopes, scopeCommand } from './scope.js'
import { seccompFilter } from './seccomp.js'
import type { ProcessorCalls } from './system-calls.js'

/** What was found on this host, once. */
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

export interface StartParts {
  readonly runtime: Runtime
  readonly log: LogSink
  readonly host: BubblewrapHost
  readonly disk: DiskWatch
  readonly spec: MachineSpec
  readonly volumes: readonly OpenVolume[]
  readonly folder: string
  readonly identity: HostIdentity | undefined
  readonly interpreter: GuestInterpreter
  /** No other machine has it; of its scope. It is seen inside, and says nothing. */
  readonly name: string
}

/** The agent is small; every program may have more. */
const AGENT_FLAGS = [
  '--max-old-space-size=64',
  '--max-semi-space-size=1',
  '--v8-pool-size=0',
  '--no-warnings',
]

/** When memory runs out, programs of machines are ended before those of the host. The environment is none of the service's. */
const OUTSIDE = 'echo 1000 >/proc/self/oom_score_adj; exec /usr/bin/env -i "$@"'

/** The first process of a machine: it waits for processes without parents, and ends with the agent, and all others with it. */
const FIRST = 'exec 3<&0 </dev/null; "$@" <&3 3<&- & exec 3<&- >/dev/null 2>&1; wait'

const MiB = 1024 * 1024
const GiB = 1024 * MiB

/** @throws MachineStartError */
export async function startMachine(parts: StartParts): Promise<BubblewrapMachine> {
  const heldBytes = await parts.disk.held(parts.folder)
  const child = spawned(parts)
  const stderr = new StderrHead(child.stderr)
  try {
    const first = await begun(parts, child)
    const { spec, runtime } = parts
    const machine = new BubblewrapMachine({
      ...parts,
      child,
      heldBytes,
      first,
      group: parts.host.scopes && (await MachineGroup.of(child.pid ?? 0)),
      flavor: spec.flavor,
      interpreter: [parts.interpreter.program],
      env: variables(spec),
      egress: egressOf(parts),
    })
    const started = Promise.race([machine.ready.then(() => true), machine.ended.then(() => false)])
    const isReady = await within(started, spec.startTimeoutMs, runtime)
    if (isReady === true) return machine
    await machine.stop()
    throw new MachineStartError(
      isReady === undefined ? `it took longer than ${spec.startTimeoutMs} ms` : 'its agent did not start',
    )
  } catch (error) {
    child.signal('SIGKILL')
    await child.exited
    const message = error instanceof Error ? error.message : String(error)
    throw new MachineStartError(`the machine could not be started: ${message}${stderr.shown}`)
  }
}

/** Gives bwrap what it reads, and gives the number of the first process on the host. */
async function begun({ runtime, host, ...parts }: StartParts, child: Child): Promise<number> {
  const options = bwrapArguments(termsOf(parts))
  give(child, descriptors.args, Buffer.from(options.map((option) => `${option}\0`).join('')))
  give(child, descriptors.seccomp, seccompFilter(host.calls))
  give(child, descriptors.agent, host.agent)
  give(child, descriptors.first, host.shell)
  for (const [index, [, content]] of guestFiles.entries()) give(child, descriptors.firstFile + index, content)
  const pid = await within(
    Promise.race([firstProcess(pipe(child, descriptors.info)), child.exited.then(() => undefined)]),
    parts.spec.startTimeoutMs,
    runtime,
  )
  if (pid === undefined) throw new MachineStartError('bwrap did not start it')
  return pid
}

function termsOf({
  spec,
  volumes,
  folder,
  interpreter,
}: Pick<StartParts, 'spec' | 'volumes' | 'folder' | 'interpreter'>): Parameters<typeof bwrapArguments>[0] {
  return {
    sessionFolder: folder,
    memoryMiB: spec.flavor.memoryMiB,
    network: spec.network,
    volumes,
    readOnlyPaths: [...new Set([...nodeItself().paths, ...interpreter.paths])],
    rootEntries: rootEntries(),
  }
}

function spawned({ runtime, host, spec, identity, name, volumes }: StartParts): Child {
  const port = spec.network.kind === 'allow' ? [String(PROXY_PORT)] : []
  const agent = [nodeItself().program, ...AGENT_FLAGS, AGENT_PATH, ...port]
  const inside = [FIRST_PATH, '-c', FIRST, 'sh', ...agent]
  const limited = [
    [host.prlimit, ...limits(spec.flavor), '--', host.bwrap, '--args', String(descriptors.args), '--'],
    // Counted for each user namespace, so that it is set inside.
    [host.prlimit, `--nproc=${spec.flavor.pids + OWN_PROCESSES}`, '--', ...inside],
  ].flat()
  // Only root speaks to the systemd of the system, and becomes the user of the session after that.
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

/** Of every process of a machine, the first one included. A core limit of one byte is kept by the filter of system calls. */
function limits({ memoryMiB, diskGiB }: FlavorLimits): string[] {
  return [
    '--core=1',
    `--data=${memoryMiB * MiB}`,
    `--fsize=${Math.floor(diskGiB * GiB)}`,
    '--nofile=1024',
    '--memlock=65536',
  ]
}

/** What every program finds; packages are installed into the workspace. */
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

function egressOf({ runtime, log, spec: { network, sessionName } }: StartParts): Egress | undefined {
  return network.kind === 'allow'
    ? new Egress({ hosts: network.hosts, sessionName, runtime, log })
    : undefined
}

function pipe(child: Child, descriptor: number): Duplex | undefined {
  return child.pipes?.[descriptor - descriptors.args]
}

function give(child: Child, descriptor: number, content: string | Uint8Array): void {
  // Read to its end, so that its descriptor is given back when bwrap has closed its own.
  pipe(child, descriptor)
    ?.on('error', () => undefined)
    .resume()
    .end(content)
}

/** What bwrap tells as soon as there is a first process. */
function firstProcess(info: Duplex | undefined): Promise<number> {
  return new Promise((resolve) => {
    let said = ''
    info?.on('error', () => undefined)
    info?.on('data', (chunk: Buffer) => {
      said += chunk.toString('latin1')
      const [, pid] = /"child-pid":\s*(\d+)/.exec(said) ?? []
      if (pid !== undefined) resolve(Number(pid))
    })
  })
}
