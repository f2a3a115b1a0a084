// Makes room on a process whose calls wait for clients that were asked something and have not come back.
//
// Such a call keeps its slot. It may do so for as long as nobody else wants it, and for a while when somebody does.

import type { Call, CallHearer } from '../../mcp/call.js'
import type { Runtime, Timer } from '../../runtime/runtime.js'

/** The process. */
export interface CrowdedProcess {
  /** How many calls wait for a slot. */
  waiting(): number
  /** The calls that have one. */
  calls(): Iterable<Call>
}

/** A call whose client is away. */
interface Away {
  readonly hearer: CallHearer
  readonly since: number
}

/** Gives up those whose clients have been away for longest, while others wait. */
export class Crowding {
  readonly #process: CrowdedProcess
  readonly #awayMsMax: number
  readonly #runtime: Pick<Runtime, 'now' | 'setTimer'>
  #timer: Timer | undefined

  constructor(process: CrowdedProcess, awayMsMax: number, runtime: Pick<Runtime, 'now' | 'setTimer'>) {
    this.#process = process
    this.#awayMsMax = awayMsMax
    this.#runtime = runtime
  }

  /** Since when all clients of its calls are away, at least one of them; undefined while one is not. */
  get since(): number | undefined {
    const calls = [...this.#process.calls()].filter(({ row }) => row.askable)
    const away = this.#away()
    return away.length < calls.length ? undefined : away[0]?.since
  }

  /** A call waits from now on. */
  begin(): void {
    if (this.#timer === undefined) this.#look()
  }

  stop(): void {
    this.#timer?.cancel()
  }

  #look(): void {
    this.#timer = undefined
    const waiting = this.#process.waiting()
    if (waiting === 0) return
    const now = this.#runtime.now()
    const away = this.#away()
    const due = away.slice(0, waiting).filter(({ since }) => since + this.#awayMsMax <= now)
    for (const { hearer } of due) hearer.giveUp?.()
    // Whoever leaves later than now is not due before that.
    const next = away[due.length]?.since ?? now
    this.#timer = this.#runtime.setTimer(Math.max(0, next + this.#awayMsMax - now), () => this.#look())
  }

  /** Who is away for longest comes first. */
  #away(): Away[] {
    const away = [...this.#process.calls()].flatMap(({ context: { hearer } }) =>
      hearer?.awaySince === undefined ? [] : [{ hearer, since: hearer.awaySince }],
    )
    return away.sort((one, other) => one.since - other.since)
  }
}
