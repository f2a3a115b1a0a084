// The names that a transcript gives to values, and their present values.

import { toLine } from '../jsonrpc/line.js'
import { splice } from '../jsonrpc/splice.js'
import type { Knowledge } from './compare.js'
import type { Fill } from './pattern.js'

/** Values of one replay, as raw JSON. */
export class Values {
  readonly #values = new Map<string, string>()

  learn(bound: ReadonlyMap<string, string>): void {
    for (const [name, value] of bound) this.#values.set(name, value)
  }

  /** For a comparison. */
  known(timesVary: boolean): Knowledge {
    return { values: this.#values, timesVary }
  }

  /** A frame with what the other end chose in its places. */
  frame({ bytes, fills }: { readonly bytes: Buffer; readonly fills: readonly Fill[] }): Buffer {
    const edits = fills.flatMap(({ start, end, name }) => {
      const value = this.#values.get(name)
      return value === undefined ? [] : [{ start, end, bytes: Buffer.from(value), why: 'chosen' }]
    })
    return edits.length === 0 ? bytes : splice(toLine(bytes), edits)
  }
}
