// The bytes of a body until it is whole.

import { Buffer } from 'node:buffer'
import { type Line, lineAt, toLine } from '../jsonrpc/line.js'
import { UnfinishedLine } from './unfinished-line.js'

/** Some programs write a byte order mark before JSON, which a reader may skip (RFC 8259, section 8.1). */
const MARK = Buffer.from('\u{feff}')

/** A line without the byte order mark that it may begin with. */
export function withoutMark(line: Line): Line {
  if (line[0] !== MARK[0] || !line.subarray(0, MARK.length).equals(MARK)) return line
  const { buffer, byteOffset, length } = line
  return lineAt(Buffer.from(buffer, byteOffset, length + 1), MARK.length, length)
}

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
