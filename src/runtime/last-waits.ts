// The timers of a connection that is closing.

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
