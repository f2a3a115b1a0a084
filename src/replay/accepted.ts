// The places of an expected frame where another value was accepted.
//
// With those values in their places the expected bytes must be the bytes that came.

import type { Span } from '../jsonrpc/scan.js'

interface Place {
  readonly expected: Span
  readonly received: Span
}

/** What was accepted in one frame. */
export class Accepted {
  readonly #expected: Buffer
  readonly #received: Buffer
  readonly #places: Place[] = []

  constructor(expected: Buffer, received: Buffer) {
    this.#expected = expected
    this.#received = received
  }

  add(expected: Span, received: Span): void {
    this.#places.push({ expected, received })
  }

  /** The expected bytes of a span with what was accepted in its place. */
  filled(span: Span): Buffer {
    const parts: Buffer[] = []
    let from = span.start
    for (const { expected, received } of this.#within(span)) {
      parts.push(this.#expected.subarray(from, expected.start))
      parts.push(this.#received.subarray(received.start, received.end))
      from = expected.end
    }
    return Buffer.concat([...parts, this.#expected.subarray(from, span.end)])
  }

  /** Where the byte at `offset` of the filled span stands in the expected frame. */
  unfilled(span: Span, offset: number): number {
    let at = span.start + offset
    for (const { expected, received } of this.#within(span)) {
      if (at < expected.start) break
      const grown = received.end - received.start - (expected.end - expected.start)
      at = Math.max(expected.start, at - grown)
    }
    return at
  }

  #within({ start, end }: Span): Place[] {
    return this.#places
      .filter(({ expected }) => start <= expected.start && expected.end <= end)
      .sort((a, b) => a.expected.start - b.expected.start)
  }
}
