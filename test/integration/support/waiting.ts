// Waiting for what says nothing when it happens.

import { strict as assert } from 'node:assert'

/** Looks again and again until it is so; far longer than a busy machine needs. */
export async function until(holds: () => boolean): Promise<void> {
  const endsAt = performance.now() + 15_000
  while (!holds()) {
    assert(performance.now() < endsAt, 'it did not happen')
    await new Promise((resolve) => setTimeout(resolve, 10))
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
