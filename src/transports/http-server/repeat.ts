// A timer that fires again and again.

import type { Clock } from '../../runtime/deadline.js'

/** Calls `fire` every so often until it is cancelled. */
export function repeat(clock: Clock, everyMs: number, fire: () => void): { cancel(): void } {
  let timer: { cancel(): void }
  const arm = (): void => {
    timer = clock.setTimer(everyMs, () => {
      arm()
      fire()
    })
  }
  arm()
  return { cancel: () => timer.cancel() }
}
