// One session: its identity, and the calls that run in it.
//
// Pieces of code run in sequence, since they share variables; commands run beside them.

import type { Buffer } from 'node:buffer'
import PQueue from 'p-queue'
import { type Clock, setDeadline, within } from '../runtime/deadline.js'
import { type Artifact, Artifacts } from './files.js'
import { exitCodeOf } from './processes.js'
import { CallOutput, OutputFile } from './call-output.js'
import { SandboxError, executionFailed, fileFailed, resourceLimit, sandboxError } from './errors.js'
import { Repl, startInterpreter } from './repl.js'
import {
  type GuestExit,
  type GuestProcess,
  type Machine,
  type MachineSpec,
  MachineStartError,
  type SandboxRuntime,
} from './runtime.js'
import { errorText } from '../text/error-text.js'
import {
  type Interruptible,
  type MachineUse,
  type RunEnd,
  abortReasons,
  inTurn,
  programEnd,
  watchedEnd,
} from './runs.js'

const QUEUE_MAX = 16
const COMMANDS_MAX = 4

/** The facts of a session that never change. */
export interface SessionFacts {
  readonly id: string
  /** The principal that has opened the session; empty when all clients share sessions. */
  readonly owner: string
  readonly template: string
  readonly flavor: string
  readonly createdAtMs: number
}

export interface CallTerms {
  readonly timeoutMs: number
  /** Aborts with one of `abortReasons`; the session aborts it too. */
  readonly abort: AbortController
  /** Called with output while it arrives. */
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
  readonly #sandbox: SandboxRuntime
  readonly #outputBytesMax: number
  readonly #clock: Clock
  /** The machine of the session, which the first call starts, and the first one after its end again. */
  #machine: Promise<Machine> | undefined
  #repl: Repl | undefined
  #outputFiles = 0
  /** Whether variables were lost and no result has reported that yet. */
  #hasLost = false
  readonly #code = new PQueue({ concurrency: 1 })
  readonly #commands = new PQueue({ concurrency: COMMANDS_MAX })
  readonly #artifacts = new Artifacts()
  #state: Exclude<SessionState, 'processing'> = 'creating'
  /** The calls that run or wait. */
  readonly #calls = new Set<AbortController>()

  constructor(
    facts: SessionFacts,
    spec: MachineSpec,
    sandbox: SandboxRuntime,
    outputBytesMax: number,
    clock: Clock,
  ) {
    this.facts = facts
    this.spec = spec
    this.lastAccessedMs = facts.createdAtMs
    this.#sandbox = sandbox
    this.#outputBytesMax = outputBytesMax
    this.#clock = clock
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

  /** Uses the machine for its files, in turn with commands. @throws SandboxError also when it gives no access to files */
  useMachine<T>(abort: AbortController, use: (where: MachineUse) => Promise<T>): Promise<T> {
    return this.#inTurn('Command', this.#commands, abort, (machine) => {
      if (machine.evaluate !== undefined) throw fileFailed('this runtime gives no access to files', {})
      return use({ machine, clock: this.#clock, signal: abort.signal })
    })
  }

  /** Ends all programs of the session, and removes its files; running calls fail with that reason. */
  async stop(): Promise<void> {
    this.#state = 'stopped'
    for (const call of this.#calls) call.abort(abortReasons.stopped)
    const machine = await this.#machine?.catch(() => undefined)
    await machine?.stop()
    await this.#sandbox.discard(this.spec.sessionId)
  }

  /** Runs a call with the machine when its turn comes. A stopped session starts no machine, since no list would contain it. */
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
    const starting = this.#sandbox.start(this.spec).catch((error: unknown) => {
      throw startFailure(error, { runtime: this.#sandbox.id, language: this.spec.language })
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
    const repl = new Repl(startInterpreter(this.spec.language, machine), () => this.#output(machine))
    this.#repl = repl
    void repl.ended.then(() => {
      this.#hasLost = true
    })
    return repl
  }

  #output(machine: Machine): CallOutput {
    if (machine.evaluate !== undefined) return new CallOutput(this.#outputBytesMax)
    return new CallOutput(this.#outputBytesMax, (stream) => {
      const name = `${++this.#outputFiles}${stream === 'stdout' ? '' : '.err'}`
      return new OutputFile(machine, name, this.#clock)
    })
  }

  #executed(called: Called, machine: Machine, what: GuestProcess, terms: CallTerms): Promise<CallResult> {
    const output = this.#output(machine)
    const end = async (): Promise<RunEnd> => {
      const exit = await programEnd(what, this.#clock)
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
    const [clock, { signal }] = [this.#clock, abort]
    if (onOutput !== undefined) output.onOutput = onOutput
    const timer = setDeadline(clock, timeoutMs, () => abort.abort(abortReasons.late))
    const ended = await watchedEnd(end(), what, machine, signal, clock).finally(() => timer.cancel())
    await output.end()
    if (signal.reason === abortReasons.late) throw this.#timedOut(called, machine, timeoutMs, output, ended)
    if (ended === undefined || signal.aborted) throw this.#aborted(called, signal)
    if (ended.kind === 'gone') throw await this.#gone(called, machine, ended.exit, output)
    const { exitCode, hasArtifacts } = ended
    const artifacts = hasArtifacts ? await this.#artifacts.look({ machine, clock }) : []
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
    const ended = await within(machine.ended, MACHINE_END_WAIT_MS, this.#clock)
    const who = called === 'Code' ? 'the interpreter' : 'the program'
    // The reason of a stopped machine explains nothing.
    const why = (ended?.reason === 'stopped' ? undefined : ended?.message) ?? exitInWords(who, exit)
    const variables = called === 'Code' ? FILES_KEPT : ''
    const hint = called === 'Command' && why.endsWith(': ENOENT') ? NO_PROGRAM : ''
    return executionFailed(called, `${why}${hint}${variables}${until(output)}`, { session_id: this.facts.id })
  }
}

/** A run with its output; `end` begins it, or waits for it. */
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

/** An interpreter often ends because its machine has ended, which the service learns a moment later. */
const MACHINE_END_WAIT_MS = 100

/** Clients often give `args: []` with a whole line. */
const NO_PROGRAM = ', there is no such program; leave args out when command is a line of the shell'

function exitInWords(who: string, { code, signal, limit, failure }: GuestExit): string {
  if (failure !== undefined) return failure
  if (limit !== undefined) return `${who} was ended by ${limit}`
  return signal === undefined ? `${who} ended with code ${code}` : `${who} was ended by ${signal}`
}

function until({ lastWords }: CallOutput): string {
  return lastWords === '' ? '; there was no output' : `; its output until then ends with:\n${lastWords}`
}
