// The messages that are still expected, and which of them a frame is.
//
// An answer belongs to the expected answer with its id, also when other frames came between. The
// other end's own messages are expected in their order. In a recording only
// messages of one method keep their order: with several servers behind a proxy
// nothing else is certain.

import { type Difference, type ReceivedMessage, compareFrames } from './compare.js'
import { type JsonNode, type Address, addressOf } from './json-tree.js'
import type { Expected } from './transcript.js'

/** The meaning of a frame. */
export type Finding =
  | {
      readonly kind: 'expected'
      readonly step: Expected
      readonly bound: ReadonlyMap<string, string>
      readonly times: number
      /** It came before others of which it was expected behind. */
      readonly early: boolean
    }
  | { readonly kind: 'different'; readonly step: Expected; readonly difference: Difference }
  | { readonly kind: 'unexpected' }

interface Pending {
  readonly step: Expected
  /** Its place in the transcript. */
  readonly at: number
  readonly address: Address
}

/** A frame that came; `tree` is undefined for what is no JSON. */
export interface Came {
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
  take(came: Came, values: Values): Finding {
    const address = addressOf(came.tree)
    if (address.kind === 'message') return this.#message(came, address.key, values)
    const pending = this.#claim(address)
    return pending === undefined ? { kind: 'unexpected' } : findingOf(pending, came, values, false)
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

  #message(came: Came, method: string, values: Values): Finding {
    const waiting = this.#pending.filter(({ address }) => address.kind === 'message')
    let alike: Pending | undefined
    let blocking: Pending | undefined
    for (const pending of waiting) {
      const isAlike = pending.address.key === method
      if (this.#recorded && !isAlike) continue
      const early = pending !== waiting[0]
      const finding = findingOf(pending, came, values, early && this.#recorded)
      if (finding.kind === 'expected') return this.#taken(pending, finding)
      if (isAlike) alike ??= pending
      if (pending.step.optional || pending.step.unordered) continue
      blocking = pending
      break
    }
    const meant = alike ?? blocking
    if (meant === undefined) return { kind: 'unexpected' }
    this.#pending = this.#pending.filter((other) => other !== meant)
    return findingOf(meant, came, values, false)
  }

  /** Optional messages that were passed over did not come. */
  #taken(pending: Pending, finding: Finding): Finding {
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
    return finding
  }
}

function findingOf({ step }: Pending, came: Came, values: Values, early: boolean): Finding {
  const { pattern } = step
  if (pattern === undefined || came.tree === undefined) return findingOfBytes(step, came, early)
  const received: ReceivedMessage = { bytes: came.bytes, tree: came.tree }
  const verdict = compareFrames(pattern, received, step.mode, values)
  return verdict.kind === 'equal'
    ? { ...verdict, kind: 'expected', step, early }
    : { kind: 'different', step, difference: verdict.difference }
}

function findingOfBytes(step: Expected, { bytes }: Came, early: boolean): Finding {
  if (step.bytes.equals(bytes)) return { kind: 'expected', step, bound: new Map(), times: 0, early }
  const at = bytes.findIndex((byte, index) => byte !== step.bytes[index])
  const offset = at === -1 ? bytes.length : at
  const difference = { path: '$', problem: 'is something else', offset, expectedOffset: offset }
  return { kind: 'different', step, difference }
}
