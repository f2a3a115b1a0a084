// The machine of a session; the session starts it at the first call, and again after it has ended.

import type { Clock } from '../runtime/deadline.js'
import { CallOutput, OutputFile } from './call-output.js'
import { SandboxError, configurationError, creationFailed } from './errors.js'
import { Repl, startInterpreter } from './repl.js'
import {
  type Evaluator,
  type Machine,
  type MachineSpec,
  MachineStartError,
  type SandboxRuntime,
} from './runtime.js'
import { errorText } from '../text/error-text.js'

/** Runs the calls of a session: a machine on this host, or an evaluator on another service. */
export type SessionRunner = Machine | Evaluator

/** Holds one machine or evaluator at a time. */
export class SessionMachine {
  readonly #runtime: SandboxRuntime
  readonly #spec: MachineSpec
  readonly #clock: Clock
  readonly #outputBytesMax: number
  #starting: Promise<SessionRunner> | undefined
  #repl: Repl | undefined
  #files = 0
  /** Whether variables were lost and no result has reported that yet. */
  #hasLost = false
  #isDiscarded = false

  constructor(runtime: SandboxRuntime, spec: MachineSpec, clock: Clock, outputBytesMax: number) {
    this.#runtime = runtime
    this.#spec = spec
    this.#clock = clock
    this.#outputBytesMax = outputBytesMax
  }

  /** Returns whether variables were lost since the previous call of this method. */
  takeLoss(): boolean {
    const hasLost = this.#hasLost
    this.#hasLost = false
    return hasLost
  }

  /** @throws SandboxError */
  get(): Promise<SessionRunner> {
    if (this.#isDiscarded) return Promise.reject(creationFailed('the session was stopped', {}))
    if (this.#starting !== undefined) return this.#starting
    const starting = this.#start()
    const forget = (): void => {
      if (this.#starting !== starting) return
      this.#starting = undefined
      this.#repl = undefined
    }
    this.#starting = starting
    void starting.then(async ({ ended }) => {
      await ended
      this.#hasLost = true
      forget()
    }, forget)
    return starting
  }

  /** The running interpreter with its variables, or a new one. */
  repl(machine: Machine): Repl {
    if (this.#repl !== undefined && !this.#repl.isOver) return this.#repl
    const repl = new Repl(startInterpreter(this.#spec.language, machine), () => this.output(machine))
    this.#repl = repl
    void repl.ended.then(() => {
      this.#hasLost = true
    })
    return repl
  }

  output(machine: SessionRunner): CallOutput {
    if (machine.kind !== 'machine') return new CallOutput(this.#outputBytesMax)
    return new CallOutput(this.#outputBytesMax, (stream) => {
      const name = `${++this.#files}${stream === 'stdout' ? '' : '.err'}`
      return new OutputFile(machine, name, this.#clock)
    })
  }

  /** Ends the machine, and removes the files of the session. */
  async discard(): Promise<void> {
    this.#isDiscarded = true
    const started = await this.#starting?.catch(() => undefined)
    await started?.stop()
    await this.#runtime.discard(this.#spec.sessionId)
  }

  async #start(): Promise<SessionRunner> {
    const [runtime, spec] = [this.#runtime, this.#spec]
    try {
      return await runtime.start(spec)
    } catch (error) {
      if (error instanceof SandboxError) throw error
      const why = errorText(error)
      const context = { runtime: runtime.id, language: spec.language }
      throw error instanceof MachineStartError && error.isConfiguration
        ? configurationError(why, context)
        : creationFailed(why, context)
    }
  }
}
