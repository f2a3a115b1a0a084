// A machine of bubblewrap: one bwrap, and in it an agent that starts programs.

import type { FlavorLimits } from '../../../upstream/contracts/sandbox-config.js'
import { readFileSync, readdirSync } from 'node:fs'
import process from 'node:process'
import { readProcess } from '../../../runtime/process-table.js'
import type { Child, Runtime } from '../../../runtime/runtime.js'
import { within } from '../../../runtime/within.js'
import type { Egress } from '../../egress/egress.js'
import type { GuestCommand, GuestExit, GuestProcess, Machine, MachineEnd } from '../../runtime.js'
import type { DiskWatch } from '../disk-watch.js'
import { AgentLink } from './agent-link.js'
import { WORKSPACE } from './arguments.js'
import type { LimitCounts, MachineGroup } from './scope.js'

/** The kernel ends the processes of a machine at once, unless one of them waits for a device. */
const KILL_WAIT_MS = 2000

export interface BubblewrapMachineParts {
  readonly runtime: Runtime
  readonly child: Child
  /** The number, on the host, of the first process of the machine's namespace; with it all others end. */
  readonly first: number
  readonly group: MachineGroup | undefined
  readonly disk: DiskWatch
  /** On the host. */
  readonly folder: string
  /** What was in it before. */
  readonly heldBytes: number
  readonly flavor: FlavorLimits
  readonly interpreter: readonly [string, ...string[]]
  readonly env: Readonly<Record<string, string>>
  /** Undefined where its programs reach no host, or the network of this one. */
  readonly egress: Egress | undefined
}

const NOTHING_REACHED: LimitCounts = { memory: 0, processes: 0 }

/** A machine whose agent was started. */
export class BubblewrapMachine implements Machine {
  readonly kind = 'machine'
  readonly workspace: string = WORKSPACE
  readonly interpreter: readonly [string, ...string[]]
  readonly ended: Promise<MachineEnd>
  /** Resolves when programs can be started; when the machine ends before, it never does. */
  readonly ready: Promise<void>
  readonly #parts: BubblewrapMachineParts
  readonly #link: AgentLink
  readonly #startedAt: string | undefined
  readonly #unwatch: () => void
  readonly #marks = new WeakMap<GuestProcess, LimitCounts>()
  #isReady: () => void = () => {}
  /** Why it has to end; the first reason counts. */
  #verdict: MachineEnd | undefined

  constructor(parts: BubblewrapMachineParts) {
    this.#parts = parts
    this.interpreter = parts.interpreter
    this.#startedAt = readProcess(parts.first)?.startedAt
    this.ready = new Promise((resolve) => {
      this.#isReady = resolve
    })
    this.#link = new AgentLink(
      { input: parts.child.stdin, output: parts.child.stdout },
      {
        ready: () => this.#isReady(),
        broken: (how) =>
          this.#condemn({ reason: 'died', message: `what starts its programs was tampered with: ${how}` }),
        connected: parts.egress && ((program) => parts.egress?.accept(program)),
        explain: (program, exit) => this.#explained(exit, this.#marks.get(program) ?? NOTHING_REACHED),
      },
    )
    this.#unwatch = this.#watchDisk()
    this.ended = parts.child.exited.then(() => this.#finish())
  }

  run({ program, args, cwd = WORKSPACE, env = {} }: GuestCommand): GuestProcess {
    const since = this.#counts()
    const started = this.#link.run({ program, args, cwd, env: { ...this.#parts.env, ...env } })
    this.#marks.set(started, since)
    return started
  }

  list(folder: string): GuestProcess {
    return this.#link.list(folder)
  }

  async stop(): Promise<void> {
    this.#condemn({ reason: 'stopped', message: 'the session was stopped' })
    await this.ended
  }

  /** The root of a machine cannot be changed from inside, so that paths below it lead to its own folders. */
  #watchDisk(): () => void {
    const { disk, folder, heldBytes, flavor, first } = this.#parts
    const root = `/proc/${first}/root`
    return disk.add({
      folder,
      diskGiB: flavor.diskGiB,
      heldBytes,
      isBusy: () => this.#link.running > 0,
      written: () => writtenIn(`${root}/proc`),
      memoryFolders: [`${root}/tmp`, `${root}/dev/shm`],
      full: (limit) => this.#condemn({ reason: 'disk', message: `${limit} was reached` }),
    })
  }

  #counts(): LimitCounts {
    return this.#parts.group?.counts() ?? NOTHING_REACHED
  }

  /** Names the limit that ended a program, or kept it from starting. */
  #explained(exit: GuestExit, since: LimitCounts): GuestExit {
    const { pids, memoryMiB } = this.#parts.flavor
    if (exit.failure?.endsWith('EAGAIN') === true) return { ...exit, limit: `the limit of ${pids} processes` }
    return exit.signal === 'SIGKILL' && this.#counts().memory > since.memory
      ? { ...exit, limit: `the memory limit of ${memoryMiB} MiB` }
      : exit
  }

  #condemn(verdict: MachineEnd): void {
    if (this.#verdict !== undefined) return
    this.#verdict = verdict
    void this.#kill()
  }

  /** With the first process of its namespace all others in it are gone before bwrap ends. */
  async #kill(): Promise<void> {
    const { child, first, runtime } = this.#parts
    if (this.#startedAt !== undefined && readProcess(first)?.startedAt === this.#startedAt) killProcess(first)
    if ((await within(child.exited, KILL_WAIT_MS, runtime)) === undefined) child.signal('SIGKILL')
  }

  #finish(): MachineEnd {
    this.#unwatch()
    const end = this.#verdict ?? { reason: 'died', message: 'its first program was ended from inside' }
    this.#parts.egress?.end()
    this.#link.end(exitWith(end))
    return end
  }
}

function killProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended.
  }
}

/** Bytes that processes have written, by their own list of processes. */
function writtenIn(proc: string): number {
  let bytes = 0
  for (const name of namesIn(proc)) {
    if (!/^\d+$/.test(name)) continue
    const [, written] = /^write_bytes: (\d+)$/m.exec(contentOf(`${proc}/${name}/io`)) ?? []
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

function contentOf(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return ''
  }
}

/** How a program ends whose machine is gone. */
function exitWith({ reason, message }: MachineEnd): GuestExit {
  const none = { code: undefined, signal: undefined }
  const failure = `the machine of the session has ended: ${message}`
  return reason === 'disk'
    ? { ...none, failure, limit: message.replace(/ was reached$/, '') }
    : { ...none, failure }
}
