// The messages that are still expected, and the match of a frame with one of them.
//
// An answer matches the expected answer with its id, also when other frames came between. Requests and
// notifications of the server are expected in their order. In a recording only messages of one method
// keep their order, because several servers behind a proxy answer in any order.

import { compareBytes, compareFrames } from './compare.js'
import { type Address, type JsonNode, addressOf, jsonTreeOf } from './json-tree.js'
import type { Event } from './report.js'
import type { Expected } from './transcript.js'

/** The event of a frame that came. */
export type ReceivedEvent = Extract<Event, { readonly kind: 'equal' | 'different' | 'unexpected' }>

interface Pending {
  readonly step: Expected
  /** Its place in the transcript. */
  readonly at: number
  readonly address: Address
}

/** A frame that came; `tree` is undefined for bytes that are no JSON. */
interface Came {
  readonly bytes: Buffer
  readonly tree: JsonNode | undefined
}

/** The values of names, as raw JSON. */
type Values = ReadonlyMap<string, string>

/** The expected frames of one transcript that have not come yet. */
export class Expectations {
  readonly #recorded: boolean
  #pending: Pending[]

  constructor(steps: readonly { readonly at: number; readonly step: Expected }[], recorded: boolean) {
    this.#recorded = recorded
    this.#pending = steps.map(({ at, step }) => ({ at, step, address: addressOf(step.pattern?.tree) }))
  }

  /** The first frame that must have come before the transcript goes on at `at`. */
  awaited(at: number): Expected | undefined {
    return this.#pending.find((pending) => pending.at < at && !pending.step.optional)?.step
  }

  /** Matches a frame with an expected frame, and removes that one. */
  take(bytes: Buffer, values: Values): ReceivedEvent {
    const came = { bytes, tree: jsonTreeOf(bytes) }
    const address = addressOf(came.tree)
    if (address.kind === 'message') return this.#message(came, address.key, values)
    const pending = this.#first(address)
    this.#remove(pending)
    return pending === undefined ? { kind: 'unexpected', bytes } : eventOf(pending, came, values, false)
  }

  /** Removes the expected answer to this id, which will not come. */
  drop(id: string): Expected | undefined {
    const pending = this.#first({ kind: 'answer', key: id })
    this.#remove(pending)
    return pending?.step
  }

  #first({ kind, key }: Address): Pending | undefined {
    return this.#pending.find(({ address }) => address.kind === kind && address.key === key)
  }

  #remove(pending: Pending | undefined): void {
    this.#pending = this.#pending.filter((other) => other !== pending)
  }

  #message(came: Came, method: string, values: Values): ReceivedEvent {
    const waiting = this.#pending.filter(({ address }) => address.kind === 'message')
    const inTurn = this.#recorded ? waiting.filter(({ address }) => address.key === method) : waiting
    // The first message that must come, and has its place, is the last one that this message can be.
    const last = inTurn.findIndex(({ step }) => !step.optional && !step.unordered)
    const possible = last === -1 ? inTurn : inTurn.slice(0, last + 1)
    for (const pending of possible) {
      const event = eventOf(pending, came, values, this.#recorded && pending !== waiting[0])
      if (event.kind !== 'equal') continue
      this.#remove(pending)
      if (!this.#recorded && !pending.step.unordered) this.#passOver(pending.at)
      return event
    }
    const meant = possible.find(({ address }) => address.key === method) ?? inTurn[last]
    this.#remove(meant)
    return meant === undefined
      ? { kind: 'unexpected', bytes: came.bytes }
      : eventOf(meant, came, values, false)
  }

  /** Optional messages that have a place before `at` did not come. */
  #passOver(at: number): void {
    this.#pending = this.#pending.filter(
      ({ step, address, at: place }) =>
        place > at || address.kind !== 'message' || !step.optional || step.unordered,
    )
  }
}

function eventOf({ step }: Pending, { bytes, tree }: Came, values: Values, early: boolean): ReceivedEvent {
  const { pattern, mode } = step
  const isJson = pattern !== undefined && tree !== undefined
  const verdict = isJson
    ? compareFrames(pattern, { bytes, tree }, mode, values)
    : compareBytes(step.bytes, bytes)
  return verdict.kind === 'equal' ? { ...verdict, step, bytes, early } : { ...verdict, step, bytes }
}
