// What the last waits of a connection that closes are timed by.

export interface LastWaits {
  setTimer(delayMs: number, fire: () => void): { cancel(): void }
}

/** For connections whose owner has no clock of its own. */
export const realLastWaits: LastWaits = {
  setTimer: (delayMs, fire) => {
    const timer = setTimeout(fire, delayMs)
    return { cancel: () => clearTimeout(timer) }
  },
}
