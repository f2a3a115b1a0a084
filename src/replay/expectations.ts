// Keeps the frames that a replay still expects, and matches each received frame with one of them.
//
// An answer matches the expected answer with its id, also after other frames. Requests and notifications of the
// server must come in order. In a recording only the messages of one method must, because several servers behind
// a proxy answer in any order.

import { jsonTreeOf, readTree } from '../ask/json-value.js'
import { type Address, addressOf, idOf } from './address.js'
import { compareBytes, compareFrames } from './compare.js'
import type { Event } from './report.js'
import type { Expected } from './transcript.js'

export type ReceivedEvent = Extract<Event, { readonly kind: 'equal' | 'different' | 'unexpected' }>

interface Pending {
  readonly step: Expected
  readonly at: number
  readonly address: Address
}

export class Expectations {
  readonly #recorded: boolean
  #pending: Pending[]

  constructor(steps: readonly { readonly at: number; readonly step: Expected }[], recorded: boolean) {
    this.#recorded = recorded
    this.#pending = steps.map(({ at, step }) => ({ at, step, address: addressOf(step.pattern?.tree) }))
  }

  /** Returns the first missing frame that the replay must receive before the step at `at`. */
  awaited(at: number): Expected | undefined {
    return this.#pending.find((pending) => pending.at < at && !pending.step.optional)?.step
  }

  /** Matches a frame with an expected frame, and removes the expected frame. */
  take(bytes: Buffer, values: ReadonlyMap<string, string>): ReceivedEvent {
    const address = addressOf(jsonTreeOf(bytes))
    if (address.kind === 'message') return this.#takeMessage(bytes, address.key, values)
    const pending = this.#remove(this.#first(address))
    return eventOf(pending, bytes, values)
  }

  /** Removes the expected answer to a request that failed. `id` is raw JSON. */
  drop(id: string): Expected | undefined {
    const key = idOf(readTree(Buffer.from(`{"id":${id}}`)))
    return this.#remove(this.#first({ kind: 'answer', key }))?.step
  }

  #first({ kind, key }: Address): Pending | undefined {
    return this.#pending.find(({ address }) => address.kind === kind && address.key === key)
  }

  #remove(pending: Pending | undefined): Pending | undefined {
    this.#pending = this.#pending.filter((other) => other !== pending)
    return pending
  }

  #takeMessage(bytes: Buffer, method: string, values: ReadonlyMap<string, string>): ReceivedEvent {
    const waiting = this.#pending.filter(({ address }) => address.kind === 'message')
    const inTurn = this.#recorded ? waiting.filter(({ address }) => address.key === method) : waiting
    // The first required message with a place is the last candidate, because later messages must come after it.
    const last = inTurn.findIndex(({ step }) => !step.optional && !step.unordered)
    const possible = last === -1 ? inTurn : inTurn.slice(0, last + 1)
    for (const pending of possible) {
      const event = eventOf(pending, bytes, values)
      if (event.kind !== 'equal') continue
      this.#remove(pending)
      if (!this.#recorded && !pending.step.unordered) this.#passOver(pending.at)
      return event
    }
    const meant = possible.find(({ address }) => address.key === method) ?? inTurn[last]
    return eventOf(this.#remove(meant), bytes, values)
  }

  /** Removes optional messages with a place before `at`, because the server has skipped them. */
  #passOver(at: number): void {
    this.#pending = this.#pending.filter(
      ({ step, address, at: place }) =>
        place > at || address.kind !== 'message' || !step.optional || step.unordered,
    )
  }
}

function eventOf(
  pending: Pending | undefined,
  bytes: Buffer,
  values: ReadonlyMap<string, string>,
): ReceivedEvent {
  if (pending === undefined) return { kind: 'unexpected', bytes }
  const { step } = pending
  const tree = jsonTreeOf(bytes)
  const verdict =
    step.pattern !== undefined && tree !== undefined
      ? compareFrames(step.pattern, { bytes, tree }, step.mode, values)
      : compareBytes(step.bytes, bytes)
  return { ...verdict, step, bytes }
}
