// The sessions of a service: finds them, ends expired ones, evicts idle ones at a limit, and runs the calls of each.
//
// Pieces of code of one session run in sequence, because they share variables. Commands run in parallel with them.

import type { Buffer } from 'node:buffer'
import { randomUUID } from 'node:crypto'
import PQueue from 'p-queue'
import { setDeadline, within } from '../runtime/deadline.js'
import type { LogSink, Runtime } from '../runtime/runtime.js'
import { errorText } from '../text/error-text.js'
import {
  type SandboxFlavor,
  type SandboxSettings,
  sandboxFlavors,
} from '../upstream/contracts/sandbox-config.js'
import { CallOutput } from './call-output.js'
import {
  SandboxError,
  executionFailed,
  fileFailed,
  resourceLimit,
  sandboxError,
  wrongArgument,
} from './errors.js'
import { type Artifact, Artifacts } from './files.js'
import { exitCodeOf } from './processes.js'
import { Repl, startInterpreter } from './repl.js'
import {
  type GuestExit,
  type GuestProcess,
  type Machine,
  type MachineSpec,
  MachineStartError,
  type SandboxRuntime,
} from './runtime.js'
import {
  type Interruptible,
  type MachineUse,
  type RunEnd,
  abortReasons,
  inTurn,
  programEnd,
  watchedEnd,
} from './runs.js'

export interface SessionRequest {
  readonly owner: string
  readonly id: string | undefined
  readonly template: string | undefined
  readonly flavor: SandboxFlavor | undefined
}

export interface SessionContext {
  readonly settings: SandboxSettings
  readonly sandbox: SandboxRuntime
  readonly runtime: Runtime
  readonly log: LogSink
}

export class Sessions {
  readonly #context: SessionContext
  /** Sessions in order of use. The most recently used one is the last. */
  readonly #sessions = new Map<string, SandboxSession>()
  readonly #stopping = new Set<Promise<void>>()

  constructor(context: SessionContext) {
    this.#context = context
  }

  open(wanted: SessionRequest): { readonly session: SandboxSession; readonly isCreated: boolean } {
    const { id, owner, template = '' } = wanted
    if (id !== undefined && !/^[A-Za-z0-9._-]{1,128}$/.test(id))
      throw wrongArgument(
        "Parameter 'session_id' must be 1 to 128 letters, digits, '.', '_' or '-'",
        'session_id',
      )
    const session = id === undefined ? undefined : this.find(id, owner)
    if (session === undefined) return { session: this.#create(wanted), isCreated: true }
    const { id: session_id, template: has } = session.facts
    if (template === '' || template === has) return { session, isCreated: false }
    throw sandboxError(
      'TEMPLATE_MISMATCH',
      `Session ${session_id} has the template '${has}' and not '${template}'`,
      { session_id, template: has, requested_template: template },
      `Call with the template '${has}'`,
      'Use another session_id for another template',
    )
  }

  /** Finds a session that has not expired, and marks it as used. */
  find(id: string, owner: string): SandboxSession | undefined {
    this.endExpired()
    const key = keyOf(id, owner)
    const session = this.#sessions.get(key)
    if (session === undefined) return undefined
    session.lastAccessedMs = this.#context.runtime.wallNow()
    this.#sessions.delete(key)
    this.#sessions.set(key, session)
    return session
  }

  /** The sessions of an owner, oldest first. */
  of(owner: string): SandboxSession[] {
    const own = [...this.#sessions.values()].filter(({ facts }) => facts.owner === owner)
    return own.sort((one, other) => one.facts.createdAtMs - other.facts.createdAtMs)
  }

  async stop(id: string, owner: string): Promise<boolean> {
    const session = this.#sessions.get(keyOf(id, owner))
    if (session !== undefined) await this.#end(session)
    return session !== undefined
  }

  endExpired(): void {
    const { runtime, settings } = this.#context
    const since = runtime.wallNow() - settings.sessionTimeoutMs
    for (const session of this.#sessions.values())
      if (session.isIdle && session.lastAccessedMs < since) void this.#end(session)
  }

  async close(): Promise<void> {
    for (const session of this.#sessions.values()) void this.#end(session)
    await Promise.all(this.#stopping)
  }

  #create({ id = randomUUID(), owner, template: name, flavor: wanted }: SessionRequest): SandboxSession {
    const { templates, defaultFlavor, volumes, network, sandboxStartTimeoutMs } = this.#context.settings
    const template = templates.find((each) => each.name === name) ?? templates[0]
    if (template === undefined) throw new Error('there is no template')
    const flavor = wanted ?? defaultFlavor
    this.endExpired()
    this.#makeRoom(sandboxFlavors[flavor].memoryMiB, owner)
    const facts = { id, owner, template: template.name, flavor, createdAtMs: this.#context.runtime.wallNow() }
    const spec = {
      ...template,
      // A new id, so that a new session of the same name does not see the files of an earlier one.
      sessionId: randomUUID(),
      sessionName: id,
      flavor: sandboxFlavors[flavor],
      volumes,
      network,
      startTimeoutMs: sandboxStartTimeoutMs,
    }
    const session = new SandboxSession(facts, spec, this.#context)
    this.#sessions.set(keyOf(id, owner), session)
    return session
  }

  #makeRoom(memoryMiB: number, owner: string): void {
    for (let why = this.#shortage(memoryMiB); why !== undefined; why = this.#shortage(memoryMiB))
      this.#evict(why, owner)
  }

  /** Names the limit that one more machine would exceed. */
  #shortage(memoryMiB: number): string | undefined {
    const { maxSessions, maxTotalMemoryMb = Infinity } = this.#context.settings
    const count = this.#sessions.size
    if (count >= maxSessions) return `Sessions limit exceeded: ${count} >= ${maxSessions}`
    const needed = [...this.#sessions.values()].reduce(
      (sum, { spec }) => sum + spec.flavor.memoryMiB,
      memoryMiB,
    )
    return needed > maxTotalMemoryMb
      ? `Memory limit exceeded: ${needed} MB > ${maxTotalMemoryMb} MB`
      : undefined
  }

  #evict(why: string, owner: string): void {
    const own = this.of(owner).length
    // An owner loses a session to another owner only if the other one has fewer sessions.
    const share = ({ facts }: SandboxSession): number =>
      facts.owner === owner ? own : this.of(facts.owner).length - Math.min(own, 1)
    const idle = [...this.#sessions.values()].filter((each) => each.isIdle && share(each) >= Math.max(own, 1))
    const [session] = this.#context.settings.enableLruEviction
      ? idle.sort((one, other) => share(other) - share(one))
      : []
    if (session === undefined) {
      const wait = 'Wait until a call of another session has ended'
      throw resourceLimit(why, { sessions: this.#sessions.size }, wait)
    }
    this.#context.log({ level: 'info', message: `session ${session.facts.id} makes room for a new one` })
    void this.#end(session)
  }

  #end(session: SandboxSession): Promise<void> {
    const { id, owner } = session.facts
    this.#sessions.delete(keyOf(id, owner))
    const ended = session.stop().catch((error: unknown) => {
      this.#context.log({ level: 'error', message: `session ${id} could not be stopped`, details: { error } })
    })
    this.#stopping.add(ended)
    return ended.finally(() => this.#stopping.delete(ended))
  }
}

/** No id contains a line feed, so the key is unambiguous. */
function keyOf(id: string, owner: string): string {
  return `${id}\n${owner}`
}

const QUEUE_MAX = 16
const COMMANDS_MAX = 4

export interface SessionFacts {
  readonly id: string
  /** The principal that opened the session. Empty if all clients share sessions. */
  readonly owner: string
  readonly template: string
  readonly flavor: string
  readonly createdAtMs: number
}

export interface CallTerms {
  readonly timeoutMs: number
  /** Aborts with one of `abortReasons`. The session may abort it too. */
  readonly abort: AbortController
  readonly onOutput: ((chunk: Buffer) => void) | undefined
}

export interface CallResult {
  readonly stdout: string
  readonly stderr: string
  readonly isCut: boolean
  /** The exit code of a command; 0 for code that has succeeded. */
  readonly exitCode: number
  /** Whether variables were lost since the previous call. */
  readonly isRestarted: boolean
  readonly artifacts: readonly Artifact[]
}

export type SessionState = 'creating' | 'ready' | 'processing' | 'error' | 'stopped'

export class SandboxSession {
  readonly facts: SessionFacts
  readonly spec: MachineSpec
  lastAccessedMs: number
  readonly #context: Omit<SessionContext, 'log'>
  /** The machine of the session. The first call starts it, and so does the first call after its end. */
  #machine: Promise<Machine> | undefined
  #repl: Repl | undefined
  /** Whether variables were lost and no result has reported that yet. */
  #hasLost = false
  readonly #code = new PQueue({ concurrency: 1 })
  readonly #commands = new PQueue({ concurrency: COMMANDS_MAX })
  readonly #artifacts = new Artifacts()
  #state: Exclude<SessionState, 'processing'> = 'creating'
  readonly #calls = new Set<AbortController>()

  constructor(facts: SessionFacts, spec: MachineSpec, context: Omit<SessionContext, 'log'>) {
    this.facts = facts
    this.spec = spec
    this.lastAccessedMs = facts.createdAtMs
    this.#context = context
  }

  get isIdle(): boolean {
    return this.#calls.size === 0
  }

  get state(): SessionState {
    return this.#state === 'ready' && !this.isIdle ? 'processing' : this.#state
  }

  runCode(code: string, terms: CallTerms): Promise<CallResult> {
    return this.#inTurn('Code', this.#code, terms.abort, (machine) => {
      if (machine.evaluate !== undefined)
        return this.#executed('Code', machine, machine.evaluate(code, terms.timeoutMs), terms)
      const what = this.#interpreter(machine)
      const { output } = what
      return this.#result('Code', machine, { what, output, end: () => what.evaluate(code) }, terms)
    })
  }

  runCommand(program: string, args: readonly string[], terms: CallTerms): Promise<CallResult> {
    const { timeoutMs, abort } = terms
    return this.#inTurn('Command', this.#commands, abort, (machine) =>
      this.#executed('Command', machine, machine.run({ program, args, timeoutMs }), terms),
    )
  }

  /** Uses the machine for its files, in turn with commands. @throws SandboxError also if it gives no access to files */
  useMachine<T>(abort: AbortController, use: (where: MachineUse) => Promise<T>): Promise<T> {
    return this.#inTurn('Command', this.#commands, abort, (machine) => {
      if (machine.evaluate !== undefined) throw fileFailed('this runtime gives no access to files', {})
      return use({ machine, clock: this.#context.runtime, signal: abort.signal })
    })
  }

  /** Ends all programs of the session, and removes its files. Running calls fail with the reason `stopped`. */
  async stop(): Promise<void> {
    this.#state = 'stopped'
    for (const call of this.#calls) call.abort(abortReasons.stopped)
    const machine = await this.#machine?.catch(() => undefined)
    await machine?.stop()
    await this.#context.sandbox.discard(this.spec.sessionId)
  }

  /** Runs a call with the machine in its turn. A stopped session starts no machine, because no list would contain it. */
  async #inTurn<T>(
    called: Called,
    queue: PQueue,
    abort: AbortController,
    run: (machine: Machine) => Promise<T>,
  ): Promise<T> {
    if (this.#state === 'stopped') abort.abort(abortReasons.stopped)
    this.#calls.add(abort)
    const { signal } = abort
    try {
      const done = inTurn(queue, QUEUE_MAX, signal, async () => run(await this.#started(signal)))
      if (done === undefined) throw this.#queueFull()
      return await done
    } catch (error) {
      throw error === signal.reason ? this.#aborted(called, signal) : error
    } finally {
      this.#calls.delete(abort)
    }
  }

  #queueFull(): SandboxError {
    const { id } = this.facts
    const why = `session ${id} has ${QUEUE_MAX} calls waiting`
    return resourceLimit(why, { session_id: id }, 'Wait for the calls of this session')
  }

  async #started(signal: AbortSignal): Promise<Machine> {
    this.#machine ??= this.#start()
    const machine = await this.#machine
    signal.throwIfAborted()
    return machine
  }

  #start(): Promise<Machine> {
    const { sandbox } = this.#context
    const starting = sandbox.start(this.spec).catch((error: unknown) => {
      throw startFailure(error, { runtime: sandbox.id, language: this.spec.language })
    })
    const change = (state: 'ready' | 'error', machine: Promise<Machine> | undefined): void => {
      if (this.#state !== 'stopped') this.#state = state
      this.#machine = machine
      if (machine === undefined) this.#repl = undefined
    }
    void starting.then(
      async ({ ended }) => {
        change('ready', starting)
        await ended
        this.#hasLost = true
        change('ready', undefined)
      },
      () => change('error', undefined),
    )
    return starting
  }

  #interpreter(machine: Machine): Repl {
    if (this.#repl !== undefined && !this.#repl.isOver) return this.#repl
    const repl = new Repl(startInterpreter(this.spec.language, machine), () => this.#newOutput())
    this.#repl = repl
    void repl.ended.then(() => {
      this.#hasLost = true
    })
    return repl
  }

  #newOutput(): CallOutput {
    return new CallOutput(this.#context.settings.outputMaxBytes)
  }

  #executed(called: Called, machine: Machine, what: GuestProcess, terms: CallTerms): Promise<CallResult> {
    const output = this.#newOutput()
    const end = async (): Promise<RunEnd> => {
      const exit = await programEnd(what, this.#context.runtime)
      if (exit.failure !== undefined || exit.limit !== undefined) return { kind: 'gone', exit }
      const exitCode = exitCodeOf(exit.code, exit.signal)
      return { kind: 'done', exitCode, hasArtifacts: machine.evaluate === undefined }
    }
    what.stdin.on('error', () => undefined).end()
    output.drain('stdout', what.stdout)
    output.drain('stderr', what.stderr)
    return this.#result(called, machine, { what, output, end }, terms)
  }

  async #result(
    called: Called,
    machine: Machine,
    { what, output, end }: Run,
    { timeoutMs, abort, onOutput }: CallTerms,
  ): Promise<CallResult> {
    const [clock, { signal }] = [this.#context.runtime, abort]
    if (onOutput !== undefined) output.onOutput = onOutput
    const timer = setDeadline(clock, timeoutMs, () => abort.abort(abortReasons.late))
    const ended = await watchedEnd(end(), what, machine, signal, clock).finally(() => timer.cancel())
    if (signal.reason === abortReasons.late) throw this.#timedOut(called, machine, timeoutMs, output, ended)
    if (ended === undefined || signal.aborted) throw this.#aborted(called, signal)
    if (ended.kind === 'gone') throw await this.#gone(called, machine, ended.exit, output)
    const { exitCode, hasArtifacts } = ended
    const artifacts = hasArtifacts ? await this.#artifacts.newArtifacts({ machine, clock }) : []
    const isRestarted = this.#hasLost
    this.#hasLost = false
    const { stdout, stderr, isCut } = output
    return { exitCode, artifacts, stdout, stderr, isCut, isRestarted }
  }

  #aborted(called: Called, { reason }: AbortSignal): SandboxError {
    return executionFailed(called, String(reason), { session_id: this.facts.id })
  }

  #timedOut(
    called: Called,
    machine: Machine,
    timeoutMs: number,
    output: CallOutput,
    ended: RunEnd | undefined,
  ): SandboxError {
    const seconds = timeoutMs / 1000
    const [kept, words] =
      machine.evaluate !== undefined
        ? [false, '; variables and files are lost']
        : called === 'Command'
          ? [undefined, '']
          : ended?.kind === 'done'
            ? [true, '; variables are kept']
            : [false, FILES_KEPT]
    const context = { session_id: this.facts.id, timeout: seconds, variables_kept: kept }
    const why = `timed out after ${seconds} s${words}${until(output)}`
    return executionFailed(called, why, context, 'Call with a longer timeout, or with less to do')
  }

  async #gone(called: Called, machine: Machine, exit: GuestExit, output: CallOutput): Promise<SandboxError> {
    const ended = await within(machine.ended, MACHINE_END_WAIT_MS, this.#context.runtime)
    const who = called === 'Code' ? 'the interpreter' : 'the program'
    // The message of a stopped machine explains nothing.
    const why = (ended?.reason === 'stopped' ? undefined : ended?.message) ?? exitInWords(who, exit)
    const variables = called === 'Code' ? FILES_KEPT : ''
    const hint = called === 'Command' && why.endsWith(': ENOENT') ? NO_PROGRAM : ''
    return executionFailed(called, `${why}${hint}${variables}${until(output)}`, { session_id: this.facts.id })
  }
}

/** A run with its output. `end` begins the run or waits for it. */
interface Run {
  readonly what: Interruptible
  readonly output: CallOutput
  readonly end: () => Promise<RunEnd>
}

function startFailure(error: unknown, context: Readonly<Record<string, unknown>>): SandboxError {
  if (error instanceof SandboxError) return error
  const isConfiguration = error instanceof MachineStartError && error.isConfiguration
  const code = isConfiguration ? 'CONFIGURATION_ERROR' : 'SANDBOX_CREATION_FAILED'
  return sandboxError(code, errorText(error), context)
}

type Called = 'Code' | 'Command'

const FILES_KEPT = '; variables are lost, files are kept'

/** An interpreter often ends because its machine has ended. The service sees that a moment later. */
const MACHINE_END_WAIT_MS = 100

/** Clients often send `args: []` together with a whole line of the shell. */
const NO_PROGRAM = ', there is no such program; leave args out when command is a line of the shell'

function exitInWords(who: string, { code, signal, limit, failure }: GuestExit): string {
  if (failure !== undefined) return failure
  if (limit !== undefined) return `${who} was ended by ${limit}`
  return signal === undefined ? `${who} ended with code ${code}` : `${who} was ended by ${signal}`
}

function until({ lastWords }: CallOutput): string {
  return lastWords === '' ? '; there was no output' : `; its output until then ends with:\n${lastWords}`
}
