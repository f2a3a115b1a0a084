// One session: its identity, and the calls that run in it.
//
// Pieces of code run in sequence, since they share variables; commands run beside them.

import type { Buffer } from 'node:buffer'
import { setMaxListeners } from 'node:events'
import { type Clock, within } from '../runtime/deadline.js'
import { type Artifact, Artifacts } from './files.js'
import { exitCodeOf } from './exit-code.js'
import { CallOutput, OutputFile } from './call-output.js'
import { SandboxError, executionFailed, resourceLimit, sandboxError } from './errors.js'
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
import { type MachineUse, type Interruptible, Turns, programEnd, runWatched, withEither } from './runs.js'

const QUEUE_MAX = 16
const COMMANDS_MAX = 4

/** The facts of a session that never change. */
export interface SessionFacts {
  readonly id: string
  /** The principal that has opened the session; empty when all clients share sessions. */
  readonly owner: string
  readonly template: string
  readonly flavor: string
  readonly memoryMiB: number
  /** The time in milliseconds since 1970. */
  readonly createdAtMs: number
}

export interface CallTerms {
  readonly timeoutMs: number
  readonly signal: AbortSignal
  /** Called with output while it arrives. */
  readonly onOutput: ((chunk: Buffer) => void) | undefined
}

export interface CallResult {
  readonly stdout: string
  readonly stderr: string
  readonly isCut: boolean
  readonly isSuccess: boolean
  /** The exit code of a command. */
  readonly exitCode: number
  /** Whether variables were lost since the previous call. */
  readonly isRestarted: boolean
  readonly artifacts: readonly Artifact[]
}

export type SessionState = 'creating' | 'ready' | 'processing' | 'error' | 'stopped'

export class SandboxSession {
  readonly facts: SessionFacts
  lastAccessedMs: number
  readonly #sandbox: SandboxRuntime
  readonly #spec: MachineSpec
  readonly #outputBytesMax: number
  readonly #clock: Clock
  /** The machine of the session, which the first call starts, and the first one after its end again. */
  #machine: Promise<Machine> | undefined
  #repl: Repl | undefined
  #outputFiles = 0
  /** Whether variables were lost and no result has reported that yet. */
  #hasLost = false
  readonly #code = new Turns(1, QUEUE_MAX)
  readonly #commands = new Turns(COMMANDS_MAX, QUEUE_MAX)
  readonly #stopping = new AbortController()
  readonly #artifacts = new Artifacts()
  #state: 'creating' | 'ready' | 'error' = 'creating'
  #calls = 0

  constructor(
    facts: SessionFacts,
    sandbox: SandboxRuntime,
    spec: MachineSpec,
    outputBytesMax: number,
    clock: Clock,
  ) {
    this.facts = facts
    this.lastAccessedMs = facts.createdAtMs
    this.#sandbox = sandbox
    this.#spec = spec
    this.#outputBytesMax = outputBytesMax
    this.#clock = clock
    // As many calls as the queues take wait for it at the same time.
    setMaxListeners(0, this.#stopping.signal)
  }

  /** Whether no call runs in the session. */
  get isIdle(): boolean {
    return this.#calls === 0
  }

  get state(): SessionState {
    if (this.#stopping.signal.aborted) return 'stopped'
    return this.#state === 'ready' && !this.isIdle ? 'processing' : this.#state
  }

  /** @throws SandboxError */
  runCode(code: string, terms: CallTerms): Promise<CallResult> {
    return this.#inTurn('Code', this.#code, terms, (machine, own) =>
      machine.evaluate === undefined
        ? this.#interpret(machine, code, own)
        : this.#execute('Code', machine, machine.evaluate(code, own.timeoutMs), own),
    )
  }

  /** @throws SandboxError */
  runCommand(program: string, args: readonly string[], terms: CallTerms): Promise<CallResult> {
    return this.#inTurn('Command', this.#commands, terms, (machine, own) =>
      this.#execute('Command', machine, machine.run({ program, args, timeoutMs: own.timeoutMs }), own),
    )
  }

  /** Uses the machine for its files, in turn with commands; undefined when it gives no access to files. @throws SandboxError */
  useMachine<T>(cancelled: AbortSignal, use: (where: MachineUse) => Promise<T>): Promise<T | undefined> {
    return this.#inTurn('Command', this.#commands, { signal: cancelled }, async (machine, { signal }) =>
      machine.evaluate === undefined ? use({ machine, clock: this.#clock, signal }) : undefined,
    )
  }

  /** Ends all programs of the session, and removes its files; running calls fail with that reason. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    const machine = await this.#machine?.catch(() => undefined)
    await machine?.stop()
    await this.#sandbox.discard(this.#spec.sessionId)
  }

  /** Runs a call with the machine when its turn comes; the signal of its terms aborts when the session stops, too. */
  async #inTurn<T, Terms extends { readonly signal: AbortSignal }>(
    called: Called,
    turns: Turns,
    terms: Terms,
    run: (machine: Machine, terms: Terms) => Promise<T>,
  ): Promise<T> {
    this.#calls++
    try {
      return await withEither(terms.signal, this.#stopping.signal, async (signal) => {
        const work = async (): Promise<T> => run(await this.#started(called), { ...terms, signal })
        const done = turns.run(signal, work)
        if (done === undefined) throw this.#queueFull()
        return done.catch((error: unknown) => {
          throw error === signal.reason ? this.#cancelled(called) : error
        })
      })
    } finally {
      this.#calls--
    }
  }

  #queueFull(): SandboxError {
    const { id } = this.facts
    const why = `session ${id} has ${QUEUE_MAX} calls waiting`
    return resourceLimit(why, { session_id: id }, 'Wait for the calls of this session')
  }

  /** A stopped session must not start a machine again, because no list of sessions would contain it. */
  async #started(called: Called): Promise<Machine> {
    if (this.#stopping.signal.aborted) throw this.#cancelled(called)
    try {
      this.#machine ??= this.#start()
      const machine = await this.#machine
      this.#state = 'ready'
      return machine
    } catch (error) {
      this.#state = 'error'
      throw error
    }
  }

  #start(): Promise<Machine> {
    const starting = this.#sandbox.start(this.#spec).catch((error: unknown) => {
      throw startFailure(error, { runtime: this.#sandbox.id, language: this.#spec.language })
    })
    const forget = (): void => {
      if (this.#machine !== starting) return
      this.#machine = undefined
      this.#repl = undefined
    }
    void starting.then(async ({ ended }) => {
      await ended
      this.#hasLost = true
      forget()
    }, forget)
    return starting
  }

  /** The running interpreter with its variables, or a new one. */
  #interpreter(machine: Machine): Repl {
    if (this.#repl !== undefined && !this.#repl.isOver) return this.#repl
    const repl = new Repl(startInterpreter(this.#spec.language, machine), () => this.#output(machine))
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

  async #interpret(machine: Machine, code: string, terms: CallTerms): Promise<CallResult> {
    const repl = this.#interpreter(machine)
    const output = withListener(repl.output, terms)
    const end = await this.#watched('Code', machine, repl, repl.evaluate(code), output, terms, (late) =>
      late?.kind === 'done' ? 'variables' : 'files',
    )
    if (end.kind === 'gone') throw await this.#gone('Code', machine, end.exit, output)
    const { isSuccess, hasArtifacts } = end
    const artifacts = hasArtifacts ? await this.#artifacts.look({ machine, clock: this.#clock }) : []
    return this.#result(output, { isSuccess, exitCode: isSuccess ? 0 : 1, artifacts })
  }

  async #execute(
    called: Called,
    machine: Machine,
    started: GuestProcess,
    terms: CallTerms,
  ): Promise<CallResult> {
    const clock = this.#clock
    const isElsewhere = machine.evaluate !== undefined
    const output = withListener(this.#output(machine), terms)
    started.stdin.on('error', () => undefined).end()
    output.drain('stdout', started.stdout)
    output.drain('stderr', started.stderr)
    const run = programEnd(started, clock)
    const exit = await this.#watched(called, machine, started, run, output, terms, () =>
      isElsewhere ? 'nothing' : undefined,
    )
    if (exit.failure !== undefined || exit.limit !== undefined)
      throw await this.#gone(called, machine, exit, output)
    const exitCode = exitCodeOf(exit.code, exit.signal)
    const artifacts = isElsewhere ? [] : await this.#artifacts.look({ machine, clock })
    return this.#result(output, { isSuccess: exitCode === 0, exitCode, artifacts })
  }

  /** Returns the value of a run that ended in time. `keptOf` names what survives a run that did not. @throws SandboxError */
  async #watched<T>(
    called: Called,
    machine: Machine,
    what: Interruptible,
    run: Promise<T>,
    output: CallOutput,
    { timeoutMs, signal }: CallTerms,
    keptOf: (late: T | undefined) => SessionRest | undefined,
  ): Promise<T> {
    const terms = { timeoutMs, signal, clock: this.#clock }
    const { kind, value } = await runWatched(run, what, machine, terms)
    await output.end()
    if (kind === 'cancelled') throw this.#cancelled(called)
    if (kind === 'timeout') throw this.#timedOut(called, timeoutMs, output, keptOf(value))
    return value
  }

  #result(
    { stdout, stderr, isCut }: CallOutput,
    end: Pick<CallResult, 'isSuccess' | 'exitCode' | 'artifacts'>,
  ): CallResult {
    const isRestarted = this.#hasLost
    this.#hasLost = false
    return { ...end, stdout, stderr, isCut, isRestarted }
  }

  #cancelled(called: Called): SandboxError {
    const why = this.#stopping.signal.aborted ? 'the session was stopped' : 'the call was cancelled'
    return executionFailed(called, why, { session_id: this.facts.id })
  }

  /** `kept` is undefined for a call that has no variables. */
  #timedOut(
    called: Called,
    timeoutMs: number,
    output: CallOutput,
    kept: SessionRest | undefined,
  ): SandboxError {
    const seconds = timeoutMs / 1000
    const variables = kept === undefined ? '' : keptInWords[kept]
    const isKept = kept === undefined ? undefined : kept === 'variables'
    const context = { session_id: this.facts.id, timeout: seconds, variables_kept: isKept }
    return executionFailed(
      called,
      `timed out after ${seconds} s${variables}${until(output)}`,
      context,
      'Call with a longer timeout, or with less to do',
    )
  }

  /** Reports that the program or the interpreter has ended by itself, or was not started. */
  async #gone(called: Called, machine: Machine, exit: GuestExit, output: CallOutput): Promise<SandboxError> {
    if (this.#stopping.signal.aborted) return this.#cancelled(called)
    const ended = await within(machine.ended, MACHINE_END_WAIT_MS, this.#clock)
    const who = called === 'Code' ? 'the interpreter' : 'the program'
    // The reason of a stopped machine explains nothing.
    const why = (ended?.reason === 'stopped' ? undefined : ended?.message) ?? exitInWords(who, exit)
    const variables = called === 'Code' ? keptInWords.files : ''
    const hint = called === 'Command' && why.endsWith(': ENOENT') ? NO_PROGRAM : ''
    return executionFailed(called, `${why}${hint}${variables}${until(output)}`, { session_id: this.facts.id })
  }
}

function startFailure(error: unknown, context: Readonly<Record<string, unknown>>): SandboxError {
  if (error instanceof SandboxError) return error
  const isConfiguration = error instanceof MachineStartError && error.isConfiguration
  const code = isConfiguration ? 'CONFIGURATION_ERROR' : 'SANDBOX_CREATION_FAILED'
  return sandboxError(code, errorText(error), context)
}

function withListener(output: CallOutput, { onOutput }: CallTerms): CallOutput {
  if (onOutput !== undefined) output.onOutput = onOutput
  return output
}

type Called = 'Code' | 'Command'

/** The parts of a session that outlive a call that failed. */
type SessionRest = 'variables' | 'files' | 'nothing'

const keptInWords: Readonly<Record<SessionRest, string>> = {
  variables: '; variables are kept',
  files: '; variables are lost, files are kept',
  nothing: '; variables and files are lost',
}

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
