// Time, which comes from outside, so that a test or a simulation can own it.

/** A pending timer; `cancel` is idempotent. */
export interface HttpTimer {
  cancel(): void
}

/** Calls `fire` once after that delay. */
export type SetTimer = (delayMs: number, fire: () => void) => HttpTimer

/** Calls `fire` again and again until it is cancelled. */
export function repeat(setTimer: SetTimer, everyMs: number, fire: () => void): HttpTimer {
  let timer: HttpTimer
  const arm = (): void => {
    timer = setTimer(everyMs, () => {
      arm()
      fire()
    })
  }
  arm()
  return { cancel: () => timer.cancel() }
}
