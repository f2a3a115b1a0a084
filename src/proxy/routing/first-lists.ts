// How long a list waits for servers that are starting and of which nothing is known.
//
// Most clients list once, right after `initialize`. What is not there then, they
// never see.

import type { RoutedClient } from './routed-client.js'
import type { Call } from '../../mcp/call.js'
import { CallQueue, type QueueRoom } from '../../mcp/call-queue.js'
import { tooManyCalls } from '../../mcp/error-codes.js'
import type { ListKind } from '../../mcp/methods/method-row.js'
import type { Runtime } from '../../runtime/runtime.js'
import type { CallTarget } from '../../upstream/contracts/upstream.js'
import { within } from '../../runtime/within.js'

/** The waits of one client's lists. */
export class FirstLists {
  readonly #client: Pick<RoutedClient, 'progress'>
  readonly #lanes: () => readonly CallTarget[]
  readonly #room: QueueRoom
  readonly #graceMs: number
  readonly #runtime: Runtime
  #endsAt: number
  /** Calls that wait for the same lists. */
  readonly #waits = new Map<string, CallQueue<() => void>>()

  /** `lanes` gives them in configuration order; a reload changes them. The grace is counted from the start of the servers. */
  constructor(
    client: Pick<RoutedClient, 'progress'>,
    lanes: () => readonly CallTarget[],
    room: QueueRoom,
    { startupGraceMs, runtime }: { readonly startupGraceMs: number; readonly runtime: Runtime },
  ) {
    this.#client = client
    this.#lanes = lanes
    this.#room = room
    this.#graceMs = startupGraceMs
    this.#runtime = runtime
    this.#endsAt = runtime.now() + startupGraceMs
  }

  /** Runs `then` once every server has listed these or could not, or the grace is over. */
  shown(call: Call, kind: ListKind, then: () => void): void {
    this.#wake([kind])
    const pending = this.#lanes().flatMap(({ view }) => view.pending(kind) ?? [])
    this.#until(`shown ${kind}`, pending, call, then)
    if (!call.settled) this.#tellProgress(call, pending)
  }

  /** The same, for a call that must not rely on what was kept of an earlier start; of these servers. */
  said(
    call: Call,
    kinds: readonly ListKind[],
    then: () => void,
    lanes: readonly CallTarget[] = this.#lanes(),
  ): void {
    this.#wake(kinds, lanes)
    const expected = lanes.filter(({ view }) => view.expected)
    // A start that is put off begins now, as it does for a call; no other server is started for this.
    for (const lane of expected) if (!kinds.every((kind) => lane.known.has(kind))) lane.view.startNow()
    const reading = expected.flatMap((lane) =>
      kinds.flatMap((kind) => (lane.known.has(kind) ? [] : (lane.view.reading(kind) ?? []))),
    )
    const whose = lanes.length === this.#lanes().length ? [] : lanes.map(({ config }) => config.name)
    this.#until(['said', ...kinds, ...whose].join(' '), reading, call, then)
  }

  /** Resolves when all that is on its way has come, or the grace is over; undefined when nothing is. */
  settled(): Promise<unknown> | undefined {
    const coming = this.#lanes().filter(({ view }) => view.expected)
    const pending = coming.flatMap(({ view }) => view.listed ?? [])
    const leftMs = this.#leftMs(pending)
    return leftMs <= 0 ? undefined : within(Promise.all(pending), leftMs, this.#runtime)
  }

  #until(what: string, pending: readonly Promise<void>[], call: Call, then: () => void): void {
    const leftMs = this.#leftMs(pending)
    if (leftMs <= 0) return then()
    const key = `${what} ${this.#endsAt}`
    const known = this.#waits.get(key)
    const waiting = known ?? new CallQueue<() => void>(this.#room)
    if (!waiting.hasRoom(call.bytes)) return call.fail(tooManyCalls())
    waiting.add(call, then)
    if (known !== undefined) return
    this.#waits.set(key, waiting)
    void within(Promise.all(pending), leftMs, this.#runtime).then(() => {
      this.#waits.delete(key)
      for (const wait of waiting) waiting.take(wait)?.()
    })
  }

  /** A client that gave a progress token hears how many servers are there, until the call is answered (MCP, Utilities: progress). */
  #tellProgress(call: Call, pending: readonly Promise<void>[]): void {
    const span = call.frame.params.meta.span('progressToken')
    if (span === undefined) return
    const token = call.raw(span)
    const total = this.#lanes().length
    let there = total - pending.length
    const report = (): void => {
      if (call.settled) return
      const progress = `"progress":${there},"total":${total},"message":"${there} of ${total} servers are there"`
      this.#client.progress(call, `{"progressToken":${token},${progress}}`)
    }
    report()
    for (const wait of pending) {
      void wait.then(() => {
        there++
        report()
      })
    }
  }

  /** Servers that start when somebody wants to know what they have start now, and have the whole grace. */
  #wake(kinds: readonly ListKind[], lanes = this.#lanes()): void {
    const woken = lanes.filter((lane) => lane.view.wake(kinds))
    if (woken.length > 0) this.#endsAt = this.#runtime.now() + this.#graceMs
  }

  /** Of the grace; none where nothing is waited for. */
  #leftMs(pending: readonly Promise<void>[]): number {
    return pending.length === 0 ? 0 : this.#endsAt - this.#runtime.now()
  }
}
