// A machine of bubblewrap: one bwrap, and in it an agent that starts programs.

import type { Child, Runtime } from '../../../runtime/runtime.js'
import { within } from '../../../runtime/within.js'
import type { Egress } from '../../egress/egress.js'
import type {
  GuestCommand,
  GuestExit,
  GuestProcess,
  Machine,
  MachineEnd,
  MachineFlavor,
} from '../../runtime.js'
import { AgentLink } from './agent-link.js'
import { WORKSPACE } from './arguments.js'
import type { LimitCounts, MachineGroup } from './machine-group.js'
import { MachineLimits } from './machine-limits.js'

/** The kernel ends the processes of a machine at once, unless one of them waits for a device. */
const KILL_WAIT_MS = 2000

export interface BubblewrapMachineParts {
  readonly runtime: Runtime
  readonly child: Child
  /** On the host, the first process of the machine's namespace; with it all others end. */
  readonly first: { readonly pid: number; readonly startedAt: string }
  readonly group: MachineGroup | undefined
  /** On the host. */
  readonly folder: string
  readonly flavor: MachineFlavor
  readonly interpreter: readonly [string, ...string[]]
  readonly env: Readonly<Record<string, string>>
  /** Undefined where its programs reach no host, or the network of this one. */
  readonly egress: Egress | undefined
}

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
  readonly #limits: MachineLimits
  readonly #start: LimitCounts
  readonly #marks = new WeakMap<GuestProcess, LimitCounts>()
  #isReady: () => void = () => {}
  /** Why it has to end; the first reason counts. */
  #verdict: MachineEnd | undefined

  constructor(parts: BubblewrapMachineParts) {
    this.#parts = parts
    this.interpreter = parts.interpreter
    this.ready = new Promise((resolve) => {
      this.#isReady = resolve
    })
    this.#limits = new MachineLimits({
      ...parts,
      isBusy: () => this.#link.running > 0,
      full: (limit) => this.#condemn({ reason: 'disk', message: `${limit} was reached` }),
    })
    this.#start = this.#limits.mark()
    this.#link = new AgentLink(
      { input: parts.child.stdin, output: parts.child.stdout },
      {
        ready: () => this.#isReady(),
        broken: (how) =>
          this.#condemn({ reason: 'died', message: `what starts its programs was tampered with: ${how}` }),
        connected: parts.egress && ((program) => parts.egress?.accept(program)),
        explain: (program, exit) => this.#limits.explain(exit, this.#marks.get(program) ?? this.#start),
      },
    )
    this.ended = parts.child.exited.then(() => this.#finish())
    void this.#limits.begin()
  }

  run({ program, args, cwd = WORKSPACE, env = {} }: GuestCommand): GuestProcess {
    const since = this.#limits.mark()
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

  #condemn(verdict: MachineEnd): void {
    if (this.#verdict !== undefined) return
    this.#verdict = verdict
    void this.#kill()
  }

  /** With the first process of its namespace everybody else in it is gone before bwrap ends. */
  async #kill(): Promise<void> {
    const { child, first, runtime } = this.#parts
    child.endDescendant?.(first)
    if ((await within(child.exited, KILL_WAIT_MS, runtime)) === undefined) child.signal('SIGKILL')
  }

  async #finish(): Promise<MachineEnd> {
    this.#limits.stop()
    const limit = this.#limits.reached(this.#start)
    const end = this.#verdict ?? this.#death(limit)
    this.#parts.egress?.end()
    this.#link.end(exitWith(end))
    await this.#parts.group?.remove()
    return end
  }

  #death(limit: string | undefined): MachineEnd {
    if (limit === undefined) return { reason: 'died', message: 'its first program was ended from inside' }
    return { reason: limit.includes('memory') ? 'memory' : 'died', message: `${limit} was reached` }
  }
}

/** How a program ends whose machine is gone. */
function exitWith({ reason, message }: MachineEnd): GuestExit {
  const exit = {
    code: undefined,
    signal: undefined,
    failure: `the machine of the session has ended: ${message}`,
  }
  return reason === 'memory' || reason === 'disk'
    ? { ...exit, limit: message.replace(/ was reached$/, '') }
    : exit
}
