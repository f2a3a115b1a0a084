// Splicing a long message: what no edit touches stays where it lies.

import { type Line, joinLine, lengthOf, toLine } from '../line.js'
import { PartReader } from './long-line.js'
import { type Edit, type SplicedLine, type WireBytes, checkOrder, wireBytes } from '../splice.js'

/** A long message that may be sent, in parts; a line feed lies behind the last. */
export class WireParts {
  readonly parts: readonly Uint8Array[]
  readonly length: number

  /** Only `spliceParts` and `build` make them. */
  constructor(parts: readonly Uint8Array[]) {
    this.parts = parts
    this.length = lengthOf(parts)
  }

  /** The whole message in one piece. */
  get joined(): WireBytes {
    return wireBytes(joinLine(this.parts, this.length))
  }
}

/** A message as it may be sent. */
export type Wire = WireBytes | WireParts

/** The same before it is written. */
export type Outgoing = Wire | SplicedLine

/** The message as it lies in memory. */
export function partsOf(wire: Wire): readonly Uint8Array[] {
  return wire instanceof WireParts ? wire.parts : [wire]
}

/** The whole message in one piece. */
export function joinedWire(wire: Outgoing): WireBytes {
  return wire instanceof Uint8Array ? wire : wire.joined
}

/** The output of `splice` for the message that begins with `head` and ends with `last`, in parts. */
export function spliceParts<Why extends string>(
  head: readonly Buffer[],
  last: Line,
  edits: readonly Edit<Why>[],
): Wire {
  if (head.length === 0 && edits.length === 0) return wireBytes(last)
  const reader = new PartReader([...head, last])
  const length = lengthOf(head) + last.length
  checkOrder(edits, length)
  const parts: Uint8Array[] = []
  let from = 0
  for (const edit of edits) {
    reader.read(from, edit.start, parts)
    parts.push(edit.bytes)
    from = edit.end
  }
  reader.read(from, length, parts)
  // Behind the bytes of an edit there is no line feed.
  if (from === length) parts.push(toLine(''))
  return new WireParts(parts)
}
