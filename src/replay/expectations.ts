// The messages that are still expected, and which of them a frame is.
//
// An answer belongs to the expected answer with its id, also when other frames came between. The
// other end's own messages are expected in their order. In a recording only
// messages of one method keep their order: with several servers behind a proxy
// nothing else is certain.

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

  /** Finds out what a frame is, and expects it no more. */
  take(bytes: Buffer, values: Values): ReceivedEvent {
    const came = { bytes, tree: jsonTreeOf(bytes) }
    const address = addressOf(came.tree)
    if (address.kind === 'message') return this.#message(came, address.key, values)
    const pending = this.#claim(address)
    return pending === undefined
      ? { kind: 'unexpected', bytes: came.bytes }
      : eventOf(pending, came, values, false)
  }

  /** The answer to this id will not come: what was expected, and is no more. */
  drop(id: string): Expected | undefined {
    return this.#claim({ kind: 'answer', key: id })?.step
  }

  /** The first frame with this address, which is expected no more. */
  #claim({ kind, key }: Address): Pending | undefined {
    const pending = this.#pending.find(({ address }) => address.kind === kind && address.key === key)
    this.#pending = this.#pending.filter((other) => other !== pending)
    return pending
  }

  #message(came: Came, method: string, values: Values): ReceivedEvent {
    const waiting = this.#pending.filter(({ address }) => address.kind === 'message')
    let alike: Pending | undefined
    let blocking: Pending | undefined
    for (const pending of waiting) {
      const isAlike = pending.address.key === method
      if (this.#recorded && !isAlike) continue
      const early = pending !== waiting[0]
      const event = eventOf(pending, came, values, early && this.#recorded)
      if (event.kind === 'equal') return this.#taken(pending, event)
      if (isAlike) alike ??= pending
      if (pending.step.optional || pending.step.unordered) continue
      blocking = pending
      break
    }
    const meant = alike ?? blocking
    if (meant === undefined) return { kind: 'unexpected', bytes: came.bytes }
    this.#pending = this.#pending.filter((other) => other !== meant)
    return eventOf(meant, came, values, false)
  }

  /** Optional messages that were passed over did not come. */
  #taken(pending: Pending, event: ReceivedEvent): ReceivedEvent {
    const { step, at } = pending
    const isFree = this.#recorded || step.unordered
    this.#pending = this.#pending.filter((other) => {
      const passedOver =
        !isFree &&
        other.address.kind === 'message' &&
        other.step.optional &&
        !other.step.unordered &&
        other.at < at
      return other !== pending && !passedOver
    })
    return event
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
