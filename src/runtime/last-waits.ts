// The timers of a connection that is closing.

import type { Clock } from './deadline.js'

export type LastWaits = Pick<Clock, 'setTimer'>

/** For connections whose owner has no clock. */
export const realLastWaits: LastWaits = {
  setTimer: (delayMs, fire) => {
    const timer = setTimeout(fire, delayMs)
    return { cancel: () => clearTimeout(timer) }
  },
}
