// The one timer that limits all calls in flight on a connection.
//
// Nearly every call is answered in time, so none has a timer of its own: one is set for the earliest deadline that was known
// when it was set, and looks again.

import type { ChurnMap } from '../../jsonrpc/fast/churn-map.js'
import type { Call } from '../../calls/call.js'
import { graceMs } from '../../runtime/deadline.js'
import type { Runtime, Timer } from '../../runtime/runtime.js'

/** A call in flight. */
interface Timed {
  readonly call: Call
  /** Among those that the connection has sent. */
  readonly number: number
  /** By how much its deadline was put off, since the proxy did not run. */
  graceMs: number
}

/** The deadlines of all calls in flight on one connection. */
export class Deadlines<S extends Timed> {
  readonly #runtime: Pick<Runtime, 'now' | 'setTimer'>
  readonly #sent: ChurnMap<number, S>
  readonly #expire: (sent: S) => void
  #timer: Timer | undefined
  /** The time of the next look. Only a call with an earlier deadline sets the timer anew; the look finds the others. */
  #looksAt = Infinity
  #isStopped = false

  /** `sent` are the calls in flight; `expire` is called when the time of one is over. */
  constructor(
    runtime: Pick<Runtime, 'now' | 'setTimer'>,
    sent: ChurnMap<number, S>,
    expire: (sent: S) => void,
  ) {
    this.#runtime = runtime
    this.#sent = sent
    this.#expire = expire
  }

  /** A call starts now, and its time has run since it came; false when that was over before. */
  start({ deadline: { endsAt } }: Call): boolean {
    if (endsAt >= this.#looksAt) return true
    if (endsAt <= this.#runtime.now()) return false
    this.#lookAt(endsAt)
    return true
  }

  /** The time of these calls stands still until the result is called. */
  pause(calls: readonly S[]): () => void {
    const now = this.#runtime.now()
    const paused = [...calls]
    for (const { call } of paused) call.deadline.pause(now)
    return () => {
      for (const sent of paused.splice(0)) if (this.#sent.get(sent.number) === sent) this.#resume(sent)
    }
  }

  stop(): void {
    this.#timer?.cancel()
    this.#isStopped = true
  }

  #resume({ call: { deadline } }: S): void {
    deadline.resume(this.#runtime.now())
    this.#lookAt(deadline.endsAt)
  }

  #lookAt(deadline: number): void {
    if (deadline >= this.#looksAt || this.#isStopped) return
    this.#timer?.cancel()
    const now = this.#runtime.now()
    this.#looksAt = Math.max(now, deadline)
    this.#timer = this.#runtime.setTimer(this.#looksAt - now, () => this.#look())
  }

  #look(): void {
    const now = this.#runtime.now()
    const grace = graceMs(now - this.#looksAt)
    this.#looksAt = Infinity
    let earliest = Infinity
    for (const sent of this.#sent.values()) {
      const { deadline } = sent.call
      if (deadline.endsAt <= now && grace > sent.graceMs) {
        sent.graceMs = grace
        deadline.putOff(now + grace)
      }
      if (deadline.endsAt <= now) this.#expire(sent)
      if (this.#sent.get(sent.number) === sent) earliest = Math.min(earliest, deadline.endsAt)
    }
    if (earliest !== Infinity) this.#lookAt(earliest)
  }
}
