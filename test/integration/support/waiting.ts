// Waiting for what says nothing when it happens.

import { strict as assert } from 'node:assert'

/** Longer than anything takes on a busy machine; what is not over then hangs. */
export const HANG_MS = 120_000

/** Looks again and again until it is so, unless it hangs. */
export async function until(holds: () => boolean): Promise<void> {
  const endsAt = performance.now() + HANG_MS
  while (!holds()) {
    assert(performance.now() < endsAt, 'it did not happen')
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

/** Asks again and again until the answer is so, unless it hangs; `state` says what is the matter then. */
export async function untilAnswered(
  holds: () => Promise<boolean>,
  state: () => string = () => '',
): Promise<void> {
  const endsAt = performance.now() + HANG_MS
  while (!(await holds())) {
    assert(performance.now() < endsAt, `it did not happen: ${state()}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** Whether there is no process with this id. */
export function gone(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return false
  } catch {
    return true
  }
}
