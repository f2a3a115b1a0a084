// Starting one machine: bwrap, what it reads, and its place in the control groups.

import { Buffer } from 'node:buffer'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Duplex, Readable } from 'node:stream'
import type { Child, LogSink, Runtime } from '../../../runtime/runtime.js'
import { within } from '../../../runtime/within.js'
import { Egress } from '../../egress/egress.js'
import { startOf } from '../../process-owner.js'
import { type MachineFlavor, type MachineSpec, MachineStartError } from '../../runtime.js'
import { changedVolume, type CheckedVolume, notTheSame } from '../../volumes.js'
import { AGENT_PATH, WORKSPACE, bwrapArguments, descriptors, guestFiles } from './arguments.js'
import type { CgroupPlaces } from './cgroup-places.js'
import { type GuestInterpreter, nodeItself, rootEntries } from './guest-interpreter.js'
import type { HostIdentity } from './identities.js'
import { BubblewrapMachine } from './machine.js'
import { MachineGroup, OWN_PROCESSES } from './machine-group.js'
import { PROXY_PORT, proxyVariables } from './proxy-variables.js'
import { seccompFilter } from './seccomp.js'
import type { ProcessorCalls } from './system-calls.js'

/** What was found on this host, once. */
export interface BubblewrapHost {
  readonly bwrap: string
  readonly prlimit: string
  readonly calls: ProcessorCalls
  readonly places: CgroupPlaces | undefined
  /** The bundle of the agent. */
  readonly agent: Buffer
}

export interface StartParts {
  readonly runtime: Runtime
  readonly log: LogSink
  readonly host: BubblewrapHost
  readonly spec: MachineSpec
  readonly volumes: readonly CheckedVolume[]
  readonly folder: string
  readonly identity: HostIdentity | undefined
  readonly interpreter: GuestInterpreter
  /** No other machine has it; of its control group. */
  readonly name: string
}

/** What bwrap says when it cannot start something. */
const COMPLAINT_LENGTH_MAX = 2000

/** The agent is small; every program may have more. */
const AGENT_FLAGS = [
  '--max-old-space-size=64',
  '--max-semi-space-size=1',
  '--v8-pool-size=0',
  '--no-warnings',
]

const MiB = 1024 * 1024
const GiB = 1024 * MiB

/** @throws MachineStartError */
export async function startMachine(parts: StartParts): Promise<BubblewrapMachine> {
  await assertVolumes(parts.volumes)
  const group = await madeGroup(parts)
  const child = spawned(parts)
  const complaint = new Complaint(child.stderr)
  try {
    const first = await begun(parts, child, group)
    const machine = new BubblewrapMachine({
      ...parts,
      child,
      first,
      group,
      flavor: parts.spec.flavor,
      interpreter: [parts.interpreter.program],
      env: variables(parts.spec),
      egress: egressOf(parts),
    })
    const isReady = await within(
      Promise.race([machine.ready.then(() => true), machine.ended.then(() => false)]),
      parts.spec.startTimeoutMs,
      parts.runtime,
    )
    if (isReady !== true) await machine.stop()
    if (isReady === undefined)
      throw new MachineStartError(`it took longer than ${parts.spec.startTimeoutMs} ms`)
    if (!isReady) throw new MachineStartError('its agent did not start')
    await assertBound(parts.volumes, first.pid, machine)
    return machine
  } catch (error) {
    child.signal('SIGKILL')
    await child.exited
    await group?.remove()
    throw new MachineStartError(complaint.with(error))
  }
}

/** Gives bwrap what it reads, and lets it go on once it has its limits. */
async function begun(
  { runtime, host, spec, ...parts }: StartParts,
  child: Child,
  group: MachineGroup | undefined,
): Promise<{ readonly pid: number; readonly startedAt: string }> {
  const filter = seccompFilter(host.calls, { isMemoryWatched: group === undefined })
  give(child, descriptors.args, texts(bwrapArguments(termsOf({ runtime, host, spec, ...parts }))))
  give(child, descriptors.seccomp, filter)
  give(child, descriptors.agent, host.agent)
  for (const [index, [, content]] of guestFiles.entries()) give(child, descriptors.firstFile + index, content)
  const pid = await within(
    Promise.race([firstProcess(pipe(child, descriptors.info)), child.exited.then(() => undefined)]),
    spec.startTimeoutMs,
    runtime,
  )
  if (pid === undefined) throw new MachineStartError('bwrap did not start it')
  try {
    await group?.add([child.pid ?? 0, pid])
  } catch (error) {
    // They are gone when bwrap has found something amiss; it says what.
    throw new MachineStartError(`it could not be put into its control group (${String(error)})`)
  }
  give(child, descriptors.block, '.')
  return { pid, startedAt: startOf(pid) ?? '' }
}

function spawned({ runtime, host, spec, identity }: StartParts): Child {
  const port = spec.network.kind === 'allow' ? [String(PROXY_PORT)] : []
  const agent = [nodeItself().program, ...AGENT_FLAGS, AGENT_PATH, ...port]
  return runtime.spawn({
    command: host.prlimit,
    // The filter keeps it as it is from here on.
    args: [
      '--core=1',
      '--',
      host.bwrap,
      '--args',
      String(descriptors.args),
      '--',
      ...limited(host.prlimit, spec.flavor),
      ...agent,
    ],
    cwd: '/',
    // Inside, it can be read: bwrap is the first process there.
    env: {},
    isUnmarked: true,
    pipes: descriptors.firstFile - descriptors.args + guestFiles.length,
    ...(identity !== undefined && { identity }),
  })
}

function termsOf({ spec, folder, volumes, interpreter }: StartParts): Parameters<typeof bwrapArguments>[0] {
  const node = nodeItself()
  return {
    sessionFolder: folder,
    memoryMiB: spec.flavor.memoryMiB,
    network: spec.network,
    volumes,
    readOnlyPaths: [...new Set([...node.paths, ...interpreter.paths])],
    rootEntries: rootEntries(),
  }
}

/** What the kernel holds for each process, and how many there may be; programs can only lower it. */
function limited(prlimit: string, { memoryMiB, pids, diskGiB }: MachineFlavor): string[] {
  return [
    prlimit,
    `--nproc=${pids + OWN_PROCESSES}`,
    `--data=${memoryMiB * MiB}`,
    `--fsize=${Math.floor(diskGiB * GiB)}`,
    '--nofile=1024',
    '--memlock=65536',
    '--',
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

async function madeGroup({ runtime, host, spec, name }: StartParts): Promise<MachineGroup | undefined> {
  if (host.places === undefined) return undefined
  const group = new MachineGroup(host.places, name, runtime)
  try {
    await group.make(spec.flavor)
    return group
  } catch (error) {
    await group.remove()
    throw new MachineStartError(`its control group could not be made: ${String(error)}`)
  }
}

async function assertVolumes(volumes: readonly CheckedVolume[]): Promise<void> {
  for (const volume of volumes) {
    const changed = await changedVolume(volume)
    if (changed !== undefined) throw new MachineStartError(changed)
  }
}

/** Between the look at a volume and its mount somebody may have put a link in its way. */
async function assertBound(
  volumes: readonly CheckedVolume[],
  pid: number,
  machine: BubblewrapMachine,
): Promise<void> {
  for (const { hostPath, guestPath, device, inode } of volumes) {
    const { dev, ino } = await stat(join(`/proc/${pid}/root`, guestPath))
    if (dev === device && ino === inode) continue
    await machine.stop()
    throw new MachineStartError(notTheSame(hostPath))
  }
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

function texts(list: readonly string[]): Buffer {
  return Buffer.from(list.map((text) => `${text}\0`).join(''))
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

/** An honest agent writes no errors; whoever writes so much there is cut off. */
const ERROR_BYTES_MAX = 256 * 1024

/** The beginning of what bwrap writes; what the agent writes later is read and forgotten, up to a limit. */
class Complaint {
  #text = ''
  #bytes = 0

  constructor(stderr: Readable) {
    stderr.on('error', () => undefined)
    stderr.on('data', (chunk: Buffer) => {
      this.#bytes += chunk.length
      if (this.#bytes > ERROR_BYTES_MAX) stderr.destroy()
      if (this.#text.length < COMPLAINT_LENGTH_MAX)
        this.#text += chunk.toString().slice(0, COMPLAINT_LENGTH_MAX)
    })
  }

  with(error: unknown): string {
    const message = error instanceof Error ? error.message : String(error)
    const said = this.#text.trim()
    return `the machine could not be started: ${message}${said === '' ? '' : `: ${said}`}`
  }
}
