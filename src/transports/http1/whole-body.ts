// Gathers a body until it is whole.

import type { Buffer } from 'node:buffer'
import { type Line, toLine } from '../../jsonrpc/line.js'
import { UnfinishedLine } from '../unfinished-line.js'

/** A body that came whole; it is asked once for what it holds. */
export class WholeBody {
  #first: Buffer | undefined
  /** Undefined while there is one piece. */
  #pieces: UnfinishedLine | undefined
  #bytes = 0

  get bytes(): number {
    return this.#bytes
  }

  get firstByte(): number | undefined {
    return this.#first?.[0]
  }

  add(chunk: Buffer): void {
    this.#bytes += chunk.length
    if (this.#first === undefined) {
      this.#first = chunk
      return
    }
    if (this.#pieces === undefined) {
      this.#pieces = new UnfinishedLine()
      this.#pieces.add(this.#first)
    }
    this.#pieces.add(chunk)
  }

  line(): Line {
    return this.#pieces?.take() ?? toLine(this.#first ?? '')
  }

  parts(): readonly Buffer[] {
    return this.#pieces?.give() ?? (this.#first === undefined ? [] : [this.#first])
  }
}
