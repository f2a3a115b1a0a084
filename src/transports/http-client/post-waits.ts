// The time limits of the messages of one session.

import { Waits } from '../../runtime/waits.js'
import type { HttpClientLimits, HttpTimers } from './options.js'

/** One line of waits for each length. */
export class PostWaits {
  /** For the answer to a request, in all. */
  readonly answer: Waits
  /** For a message that has no answer, until it is taken. */
  readonly accept: Waits
  /** For an exchange of which nobody wants more. */
  readonly linger: Waits

  constructor(limits: Pick<HttpClientLimits, 'answerMs' | 'acceptMs' | 'lingerMs'>, timers: HttpTimers) {
    this.answer = new Waits(limits.answerMs, timers)
    this.accept = new Waits(limits.acceptMs, timers)
    this.linger = new Waits(limits.lingerMs, timers)
  }

  stop(): void {
    for (const waits of [this.answer, this.accept, this.linger]) waits.stop()
  }
}
