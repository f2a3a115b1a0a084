// Why a call of a session has no result, in words that a model can act on.

import type { Clock } from '../runtime/deadline.js'
import { within } from '../runtime/within.js'
import type { CallOutput } from './call-output.js'
import { type SandboxError, executionFailed } from './errors.js'
import type { GuestExit, Machine } from './runtime.js'
import { endInWords } from './session-machine.js'

/** What was called. */
export type Called = 'Code' | 'Command'

/** What a session still has after a call that failed. */
export type SessionRest = 'variables' | 'files' | 'nothing'

const keptInWords: Readonly<Record<SessionRest, string>> = {
  variables: '; variables are kept',
  files: '; variables are lost, files are kept',
  nothing: '; variables and files are lost',
}

/** Why an interpreter has gone is often that its machine has, which is heard a moment later. */
const MACHINE_END_WAIT_MS = 100

/** Says why calls of one session have failed. */
export class CallFailures {
  readonly #sessionId: string
  readonly #stopped: AbortSignal
  readonly #clock: Clock

  /** `stopped` is the end of the session. */
  constructor(sessionId: string, stopped: AbortSignal, clock: Clock) {
    this.#sessionId = sessionId
    this.#stopped = stopped
    this.#clock = clock
  }

  cancelled(called: Called): SandboxError {
    const why = this.#stopped.aborted ? 'the session was stopped' : 'the call was cancelled'
    return executionFailed(called, why, { session_id: this.#sessionId })
  }

  /** `kept` is undefined where there were no variables. */
  timedOut(
    called: Called,
    timeoutMs: number,
    output: CallOutput,
    kept: SessionRest | undefined,
  ): SandboxError {
    const seconds = timeoutMs / 1000
    const variables = kept === undefined ? '' : keptInWords[kept]
    const isKept = kept === undefined ? undefined : kept === 'variables'
    const context = { session_id: this.#sessionId, timeout: seconds, variables_kept: isKept }
    return executionFailed(
      called,
      `timed out after ${seconds} s${variables}${until(output)}`,
      context,
      'Call with a longer timeout, or with less to do',
    )
  }

  /** The program or the interpreter has ended by itself, or was not started. */
  async gone(called: Called, machine: Machine, exit: GuestExit, output: CallOutput): Promise<SandboxError> {
    if (this.#stopped.aborted) return this.cancelled(called)
    const ended = await within(machine.ended, MACHINE_END_WAIT_MS, this.#clock)
    const who = called === 'Code' ? 'the interpreter' : 'the program'
    const why = (ended && endInWords(ended)) ?? exitInWords(who, exit)
    const variables = called === 'Code' ? keptInWords.files : ''
    const context = { session_id: this.#sessionId }
    return executionFailed(called, `${why}${variables}${until(output)}`, context)
  }
}

function exitInWords(who: string, { code, signal, limit, failure }: GuestExit): string {
  if (failure !== undefined) return failure
  if (limit !== undefined) return `${who} was ended by ${limit}`
  return signal === undefined ? `${who} ended with code ${code}` : `${who} was ended by ${signal}`
}

function until({ lastWords }: CallOutput): string {
  return lastWords === '' ? '; there was no output' : `; its output until then ends with:\n${lastWords}`
}
