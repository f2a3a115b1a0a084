// One value of a long message.

import type { LongLine } from './long-line.js'
import { PartReader } from './part-reader.js'
import type { Span } from '../scan.js'

/** A value as it is written, in one piece or in a message that is in parts. */
export type RawValue = Buffer | LongValue

export function firstByte(value: RawValue): number | undefined {
  return value instanceof LongValue ? value.first : value[0]
}

/** The bytes of a value of a message that is in parts; they are joined for who asks for all of them. */
export class LongValue {
  readonly #long: LongLine
  readonly #span: Span

  constructor(long: LongLine, span: Span) {
    this.#long = long
    this.#span = span
  }

  get length(): number {
    return this.#span.end - this.#span.start
  }

  get first(): number | undefined {
    return this.#long.slice(this.#span.start, this.#span.start + 1)[0]
  }

  get whole(): Buffer {
    return this.#long.line.subarray(this.#span.start, this.#span.end)
  }

  /** Where its long strings begin and end, in turn, counted from its start; undefined when nobody knows. */
  get strings(): readonly number[] | undefined {
    const { start, end } = this.#span
    return this.#long.strings?.filter((at) => at >= start && at <= end).map((at) => at - start)
  }

  /** Reads text by ranges that count from its start, each behind the one before. */
  reader(): (from: number, to: number) => string {
    const parts = new PartReader(this.#long.parts)
    const { start } = this.#span
    return (from, to) => {
      const views: Uint8Array[] = []
      parts.read(start + from, start + to, views)
      return Buffer.concat(views).toString('utf8')
    }
  }
}
