// What the calls of one client wait for: that servers which are starting say what they have.
//
// Most clients list once, right after `initialize`, and never see an item that comes later. So a list waits for each
// server, for as long as the grace of that server lasts (`graceMs` of its view, from `startupGraceMs`). A call by name waits for the servers that may have the name, for
// as long as the call may take.
//
// One look at all waiting calls follows each end of a wait. They go on in the order in which they came, a call that is
// given up leaves nothing behind, and a reload exchanges the servers that the others wait for.

import type { ErrorBody } from '../../jsonrpc/build.js'
import type { Call } from '../../mcp/call.js'
import { CallQueue, QueueRoom } from '../../mcp/call-queue.js'
import { tooManyCalls, upstreamFailed } from '../../mcp/error-codes.js'
import type { ListKind } from '../../mcp/methods.js'
import { rawAt } from '../../jsonrpc/text.js'
import type { Runtime } from '../../runtime/runtime.js'
import type { CallTarget } from '../../upstream/contracts/upstream.js'
import { setDeadline, within } from '../../runtime/deadline.js'

/** The name that a call asks for, and the servers that may have it. */
export interface Wanted {
  readonly kind: 'tools' | 'prompts'
  readonly name: string
  /** Whether it is known now which server has it: no other server is waited for, or started. */
  readonly isOfOne: () => boolean
  readonly concerns: (lane: CallTarget) => boolean
}

/** A call that waits. */
interface Wait {
  isOver(): boolean
  readonly run: () => void
  /** Undefined for lists and resources. */
  readonly wanted: Wanted | undefined
}

/** Something that a server is about to list, or the time that a list has for it. */
interface Reading {
  readonly lane: CallTarget
  readonly listed: Promise<unknown>
  readonly isOver: boolean
  /** Resolves when it is over. */
  readonly end: Promise<unknown>
}

/** Holds calls back until servers have listed. */
export class ListWaits {
  readonly #lanes: () => readonly CallTarget[]
  readonly #runtime: Runtime
  readonly #holdStarts: (answered: Promise<unknown>) => void
  readonly #waiting: CallQueue<Wait>
  /** By the promises of lanes, and for what they are waited for. */
  readonly #readings = new WeakMap<Promise<unknown>, Map<string, Reading>>()
  /** From here the grace of each server is counted. */
  #beganAt: number
  /** The client has cancelled a list that waited: its next lists do not wait. */
  #isGivenUp = false

  /**
   * A reload changes what `lanes` gives, and calls of up to `bytesMax` may wait. Processes that no call waits for start
   * after the promises that `holdStarts` gets.
   */
  constructor(
    lanes: () => readonly CallTarget[],
    bytesMax: number,
    runtime: Runtime,
    holdStarts: (answered: Promise<unknown>) => void,
  ) {
    this.#lanes = lanes
    this.#runtime = runtime
    this.#holdStarts = holdStarts
    this.#waiting = new CallQueue(new QueueRoom(bytesMax))
    this.#beganAt = runtime.now()
  }

  /** Runs `then` once every server has listed these or could not, or its grace is over. */
  whenListable(call: Call, kind: ListKind, then: () => void): void {
    this.#wake([kind])
    const readings = this.#isGivenUp ? [] : this.#unknown(kind)
    const givenUp = (): void => {
      this.#isGivenUp = true
      // The first list of the next start does not wait either.
      for (const { lane } of readings) lane.view.giveUp()
    }
    if (this.#untilRead(call, readings, then, givenUp)) this.#tellProgress(call, readings)
  }

  /** The same, for a call that must not rely on what was kept of an earlier start; of these servers. */
  whenListed(
    call: Call,
    kinds: readonly ListKind[],
    then: () => void,
    lanes: readonly CallTarget[] = this.#lanes(),
  ): void {
    this.#untilRead(call, this.#unread(kinds, lanes), then)
  }

  /** Runs `then` once the names of the servers that may have this one are known; else the call fails when its time is over. */
  whenNamed(call: Call, wanted: Wanted, then: () => void): void {
    const hurried = new Set<CallTarget>()
    const pending = this.#pending(wanted, hurried)
    if (pending.length === 0) return this.#whenAnyListed(call, wanted, then)
    const patienceMs = Math.max(...pending.map((lane) => lane.config.timeoutMs))
    const { deadline } = call
    deadline.times = { timeoutMs: patienceMs, totalTimeoutMs: patienceMs }
    const expire = (): void => call.abandon(stillStarting(pending, wanted.name, patienceMs))
    const leftMs = deadline.endsAt - this.#runtime.now()
    const isOver = (): boolean => this.#pending(wanted, hurried).length === 0
    const patience = setDeadline(this.#runtime, leftMs, expire, (to) => deadline.putOff(to))
    const ended = (): void => patience.cancel()
    if (!this.#hold(call, { isOver, run: then, wanted }, ended)) ended()
  }

  /** Calls by names of this kind that came before may be this lane's and wait still: no later call may overtake them. */
  has(lane: CallTarget, kind: Wanted['kind']): boolean {
    if (this.#waiting.size === 0 || this.#isListed(lane, kind)) return false
    for (const { value } of this.#waiting)
      if (value.wanted?.kind === kind && value.wanted.concerns(lane)) return true
    return false
  }

  /** Resolves when all that is on its way has come, or its grace is over; undefined when nothing is. */
  settled(): Promise<unknown> | undefined {
    const coming = this.#lanes().filter(({ view }) => view.before.kind !== 'silent')
    const readings = coming.flatMap((lane) => this.#inGrace(lane, lane.view.listed))
    return areOver(readings) ? undefined : Promise.all(readings.map(({ end }) => end))
  }

  /**
   * Releases the calls whose servers have listed or have left the configuration.
   *
   * All of them are chosen before the first goes on: one that has to wait once more must not fall behind the next.
   */
  look(): void {
    const due = [...this.#waiting].filter(({ value }) => value.isOver())
    for (const queued of due) this.#waiting.take(queued)?.run()
  }

  /** Any server may have the name, until a reload brings the one whose prefix it has. */
  #whenAnyListed(call: Call, { kind, isOfOne }: Wanted, then: () => void): void {
    if (isOfOne()) then()
    else this.#untilRead(call, this.#unread([kind], this.#lanes()), then, undefined, isOfOne)
  }

  /** Whether the call waits now; `givenUp` is called when it ends before the servers have listed. */
  #untilRead(
    call: Call,
    readings: readonly Reading[],
    run: () => void,
    givenUp?: () => void,
    isNeedless = (): boolean => false,
  ): boolean {
    const isOver = (): boolean => areOver(readings) || isNeedless()
    if (isOver()) {
      run()
      return false
    }
    const isHeld = this.#hold(call, { isOver, run, wanted: undefined }, () => {
      if (!isOver()) givenUp?.()
    })
    if (isHeld) this.#holdStarts(Promise.all(readings.map(({ end }) => end)))
    return isHeld
  }

  #hold(call: Call, wait: Wait, ended: () => void): boolean {
    const hasRoom = this.#waiting.hasRoom(call.bytes)
    if (hasRoom) this.#waiting.add(call, wait, ended)
    else call.fail(tooManyCalls())
    return hasRoom
  }

  /** What these servers have not listed since they started. */
  #unread(kinds: readonly ListKind[], lanes: readonly CallTarget[]): Reading[] {
    this.#wake(kinds, lanes)
    return lanes.flatMap((lane) => {
      const isExpected = lane.view.before.kind !== 'silent'
      const unknown = isExpected ? kinds.filter((kind) => !lane.known.has(kind)) : []
      return unknown.flatMap((kind) => this.#inGrace(lane, lane.view.reading(kind)))
    })
  }

  /** The servers that a list waits for. */
  #unknown(kind: ListKind): Reading[] {
    const lanes = this.#lanes()
    const pending = lanes.flatMap((lane) => this.#inGrace(lane, lane.view.pending(kind)))
    if (pending.length > 0 || lanes.some(({ view }) => view.items(kind).length > 0)) return pending
    // An empty list looks as if there were nothing, so it also waits for servers that failed at their last start. What
    // is kept of a server says whether it has such a list.
    const starting = lanes.filter(
      ({ view, known }) => view.state === 'starting' && view.facts === undefined && !known.has(kind),
    )
    return starting.flatMap((lane) => this.#inGrace(lane, lane.view.reading(kind)))
  }

  /** The servers of a name whose names are not known, which start or list now. */
  #pending({ kind, concerns }: Wanted, hurried: Set<CallTarget>): CallTarget[] {
    const lanes = this.#lanes().filter((lane) => concerns(lane))
    for (const lane of lanes) {
      if (lane.known.has(kind) || hurried.has(lane)) continue
      hurried.add(lane)
      lane.hurry()
    }
    return lanes.filter((lane) => !this.#isListed(lane, kind))
  }

  /**
   * Whether the lane has said what it has of this, or could not; when it has, the calls are looked at again.
   *
   * A list that could not be read is asked for again, and a list that was read need not wait for other kinds.
   */
  #isListed(lane: CallTarget, kind: ListKind): boolean {
    const { listed } = lane.view
    if (listed === undefined) return true
    const end = (): Promise<unknown> => {
      const read = lane.view.reading(kind)
      return Promise.race([listed, read?.then(() => (lane.known.has(kind) ? undefined : listed)) ?? listed])
    }
    return this.#reading(lane, listed, kind, end).isOver
  }

  /** What a list waits for until the grace of the server is over; nothing where `listed` is undefined. */
  #inGrace(lane: CallTarget, listed: Promise<unknown> | undefined): Reading[] {
    if (listed === undefined) return []
    const endsAt = this.#beganAt + lane.view.graceMs
    const leftMs = endsAt - this.#runtime.now()
    if (leftMs <= 0) return [{ lane, listed, isOver: true, end: listed }]
    return [this.#reading(lane, listed, String(endsAt), () => within(listed, leftMs, this.#runtime))]
  }

  /** The same reading for all calls that wait for the same. */
  #reading(lane: CallTarget, listed: Promise<unknown>, what: string, begin: () => Promise<unknown>): Reading {
    const readings = this.#readings.get(listed) ?? new Map<string, Reading>()
    const known = readings.get(what)
    if (known !== undefined) return known
    const end = begin().then(() => {
      reading.isOver = true
      this.look()
    })
    const reading = { lane, listed, isOver: false, end }
    this.#readings.set(listed, readings.set(what, reading))
    return reading
  }

  /** A client that gave a progress token gets the number of servers that have listed (MCP, Utilities: progress). */
  #tellProgress(call: Call, readings: readonly Reading[]): void {
    const span = call.frame.params.meta.span('progressToken')
    if (span === undefined) return
    const token = rawAt(call.frame.line, span)
    const total = this.#lanes().length
    let there = total - readings.length
    const report = (): void => {
      if (call.settled) return
      const progress = `"progress":${there},"total":${total},"message":"${there} of ${total} servers are there"`
      call.notify('notifications/progress', `{"progressToken":${token},${progress}}`)
    }
    report()
    for (const { listed } of readings) {
      void listed.then(() => {
        there++
        report()
      })
    }
  }

  /** Servers that start when a client asks for their lists start now, and have the whole grace. */
  #wake(kinds: readonly ListKind[], lanes = this.#lanes()): void {
    const woken = lanes.filter((lane) => lane.view.wake(kinds))
    if (woken.length > 0) this.#beganAt = this.#runtime.now()
  }
}

function areOver(readings: readonly Reading[]): boolean {
  return readings.every(({ isOver }) => isOver)
}

function stillStarting([lane]: readonly CallTarget[], name: string, ms: number): ErrorBody {
  const service = lane?.config.name ?? ''
  const message = `'${service}': it is still starting, and '${name}' had to be there within ${ms} ms (timeout)`
  return upstreamFailed(service, 'timeout', message, { name, budget: 'timeout', ms })
}
