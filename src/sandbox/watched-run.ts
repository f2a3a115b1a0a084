// Ends a call that takes too long, or that the client has cancelled.
//
// The run gets SIGINT first, so that variables survive. After that the service kills the processes of the call, and at last stops
// the machine if a process remains.

import { type Clock, setDeadline, within } from '../runtime/deadline.js'

/** How long code may take to end after SIGINT. */
const INTERRUPT_WAIT_MS = 2000
/** How long processes may take to end after SIGKILL; the system may hold one. */
const KILL_WAIT_MS = 1000

export interface Endable {
  interrupt(): void
  kill(): void
  /** Ends the machine with all programs in it. */
  stopMachine(): Promise<void>
}

export interface RunTerms {
  readonly timeoutMs: number
  /** Aborted when the client no longer wants the result. */
  readonly signal: AbortSignal
  readonly clock: Clock
}

/** How a run ended; `value` is its result, if it ended after the interrupt. */
export type RunEnd<T> =
  | { readonly kind: 'ended'; readonly value: T }
  | { readonly kind: 'timeout'; readonly value: T | undefined }
  | { readonly kind: 'cancelled'; readonly value: T | undefined }

/** Waits for the end of a run, and ends it when it takes too long. */
export async function runWatched<T>(run: Promise<T>, what: Endable, terms: RunTerms): Promise<RunEnd<T>> {
  const ended = run.then((value) => ({ kind: 'ended', value }) as const)
  const limit = limitOf(terms)
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

/** Resolves when the time of a run is over, or the client no longer wants its result. */
function limitOf({ timeoutMs, signal, clock }: RunTerms): {
  readonly reached: Promise<{ readonly kind: 'timeout' | 'cancelled' }>
  cancel(): void
} {
  const releases: (() => void)[] = []
  const reached = new Promise<{ readonly kind: 'timeout' | 'cancelled' }>((resolve) => {
    const timer = setDeadline(clock, timeoutMs, () => resolve({ kind: 'timeout' }))
    const abort = (): void => resolve({ kind: 'cancelled' })
    signal.addEventListener('abort', abort)
    if (signal.aborted) abort()
    releases.push(
      () => timer.cancel(),
      () => signal.removeEventListener('abort', abort),
    )
  })
  return { reached, cancel: () => releases.forEach((release) => release()) }
}

/**
 * Runs `use` with a signal that aborts when one of both aborts.
 *
 * `AbortSignal.any` would leave an entry for every call in the signal that lives longer.
 */
export async function withEither<T>(
  one: AbortSignal,
  other: AbortSignal,
  use: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const either = new AbortController()
  const abort = (): void => either.abort()
  const signals = [one, other]
  for (const signal of signals) signal.addEventListener('abort', abort)
  if (signals.some(({ aborted }) => aborted)) abort()
  try {
    return await use(either.signal)
  } finally {
    for (const signal of signals) signal.removeEventListener('abort', abort)
  }
}
