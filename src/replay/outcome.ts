// The events and the result of a replay.

import type { Difference } from './compare.js'

/** A line of a transcript. */
export interface Place {
  /** Counted from 1. */
  readonly line: number
  /** The frame of the line. */
  readonly bytes: Buffer
}

/** The events of a replay, in their order. */
export type Event =
  | { readonly kind: 'sent'; readonly step: Place; readonly bytes: Buffer }
  | {
      readonly kind: 'equal'
      readonly step: Place
      readonly bytes: Buffer
      /** Dates that were accepted although they differ. */
      readonly times: number
      /** Whether it was accepted although it came before others. */
      readonly early: boolean
    }
  | {
      readonly kind: 'different'
      readonly step: Place
      readonly bytes: Buffer
      readonly difference: Difference
    }
  | { readonly kind: 'unexpected'; readonly bytes: Buffer }
  /** A message of ours did not get through. */
  | { readonly kind: 'failed'; readonly why: string }
  /** `step` did not come. */
  | { readonly kind: 'missing'; readonly step: Place; readonly why: string }
  | {
      readonly kind: 'exit'
      readonly step: { readonly line: number; readonly code: number }
      readonly problem: string | undefined
    }

/** How a replay went. */
export interface ReplayOutcome {
  readonly kind: 'replayed'
  readonly events: readonly Event[]
  readonly stderr: string
}

/** How a replay went, or why there was none. */
export type Result = ReplayOutcome | { readonly kind: 'skipped'; readonly why: string }

export function isFailure(event: Event): boolean {
  return event.kind === 'exit' ? event.problem !== undefined : event.kind !== 'sent' && event.kind !== 'equal'
}
