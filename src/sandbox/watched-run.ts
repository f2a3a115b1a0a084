// A call that may take so long, and may be given up.
//
// Whoever runs too long is asked first (SIGINT), so that variables survive; then what the call runs is ended, and
// what is not ended by that goes with its machine.

import type { Clock } from '../runtime/deadline.js'
import { setDeadline } from '../runtime/deadline.js'
import { within } from '../runtime/within.js'

/** How long code has for its end after SIGINT. */
const INTERRUPT_WAIT_MS = 2000
/** How long processes have after SIGKILL; the system may hold one. */
const KILL_WAIT_MS = 1000

/** What may be ended. */
export interface Endable {
  interrupt(): void
  kill(): void
  /** Ends the machine with all that runs in it. */
  stopMachine(): Promise<void>
}

export interface RunTerms {
  readonly timeoutMs: number
  /** Nobody wants the result any more. */
  readonly signal: AbortSignal
  readonly clock: Clock
}

/** How a run ended; `value` is what it ended with, if it did so after it was asked. */
export type RunEnd<T> =
  | { readonly kind: 'ended'; readonly value: T }
  | { readonly kind: 'timeout'; readonly value: T | undefined }
  | { readonly kind: 'cancelled'; readonly value: T | undefined }

/** Waits for the end of a run, and brings it about when that takes too long. */
export async function runWatched<T>(run: Promise<T>, what: Endable, terms: RunTerms): Promise<RunEnd<T>> {
  const ended = run.then((value) => ({ kind: 'ended', value }) as const)
  const limit = new Limit(terms)
  const first = await Promise.race([ended, limit.reached]).finally(() => limit.cancel())
  if (first.kind === 'ended') return first
  what.interrupt()
  const asked = await within(ended, INTERRUPT_WAIT_MS, terms.clock)
  if (asked !== undefined) return { ...first, value: asked.value }
  what.kill()
  const killed = await within(ended, KILL_WAIT_MS, terms.clock)
  if (killed === undefined) await what.stopMachine()
  return { ...first, value: killed?.value }
}

/** The end of the time that a run may take, or of the interest in it. */
class Limit {
  readonly reached: Promise<{ readonly kind: 'timeout' | 'cancelled' }>
  readonly #timer: { cancel(): void }
  readonly #signal: AbortSignal
  #reach: (limit: { readonly kind: 'timeout' | 'cancelled' }) => void = () => {}

  constructor({ timeoutMs, signal, clock }: RunTerms) {
    this.#signal = signal
    this.reached = new Promise((resolve) => {
      this.#reach = resolve
    })
    this.#timer = setDeadline(clock, timeoutMs, () => this.#reach({ kind: 'timeout' }))
    signal.addEventListener('abort', this.#aborted, { once: true })
    if (signal.aborted) this.#aborted()
  }

  cancel(): void {
    this.#timer.cancel()
    this.#signal.removeEventListener('abort', this.#aborted)
  }

  readonly #aborted = (): void => this.#reach({ kind: 'cancelled' })
}
