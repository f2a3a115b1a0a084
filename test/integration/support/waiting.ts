// Waiting for what says nothing when it happens.

import { strict as assert } from 'node:assert'

/** Longer than anything takes on a busy machine; what is not over then hangs. */
export const HANG_MS = 120_000

/** What is not so by now takes long, so that it is looked at less often. */
const OFTEN_MS = 200

/** Looks again and again until it is so, unless it hangs. */
export async function until(holds: () => boolean): Promise<void> {
  const beganAt = performance.now()
  while (!holds()) {
    const passedMs = performance.now() - beganAt
    assert(passedMs < HANG_MS, 'it did not happen')
    await new Promise((resolve) => setTimeout(resolve, passedMs < OFTEN_MS ? 5 : 25))
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
