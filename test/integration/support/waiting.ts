// Waiting for conditions without an event.

import { strict as assert } from 'node:assert'

/** The limit of every wait: longer than any step takes on a busy machine. */
export const HANG_MS = 120_000

/** Polls until the condition holds. */
export async function until(holds: () => boolean): Promise<void> {
  const endsAt = performance.now() + HANG_MS
  while (!holds()) {
    assert(performance.now() < endsAt, 'it did not happen')
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

/** Polls until the condition holds; `state` is the detail of the failure. */
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
