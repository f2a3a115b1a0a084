// The edits of messages, as the inspector keeps and shows them.

import { Buffer } from 'node:buffer'
import type { Span } from '../jsonrpc/scan.js'
import type { Edit, EditReason } from '../jsonrpc/splice.js'

/** The most bytes that the inspector keeps of one message. */
export const KEPT_BYTES_MAX: number = 64 * 1024

/** An edit at its place in the input. It has only the bytes within the kept beginning of the message. */
export interface KeptEdit extends Span {
  readonly why: EditReason
  readonly replaced: Buffer
  readonly written: Buffer
  /** The number of all written bytes, also those that are not kept. */
  readonly length: number
}

const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

/** Copies edits, which are in order and do not overlap. */
export function keptEdits(input: Uint8Array, edits: readonly Edit[]): KeptEdit[] {
  let moved = 0
  return edits.map(({ start, end, bytes, why }) => {
    const replaced = Buffer.from(input.subarray(start, start + keptOf(start, end - start)))
    const written = Buffer.from(bytes.subarray(0, keptOf(start + moved, bytes.length)))
    moved += bytes.length - (end - start)
    return { start, end, why, replaced, written, length: bytes.length }
  })
}

/** Whether the message contains what edits wrote at these places, as far as it is kept. */
export function areIn(message: Buffer, outputs: readonly KeptEdit[]): boolean {
  return outputs.every(({ start, written }) =>
    written.equals(message.subarray(start, start + written.length)),
  )
}

export function outputsOf(edits: readonly KeptEdit[]): KeptEdit[] {
  let moved = 0
  return edits.map((edit) => {
    const start = edit.start + moved
    moved += edit.length - (edit.end - edit.start)
    return { ...edit, start, end: start + edit.length }
  })
}

/** Returns the edits of a list item at their places in `message`; empty if `message` does not contain the item. */
export function editsInList(message: Buffer, edits: readonly KeptEdit[], itemSize: number): KeptEdit[] {
  const outputs = outputsOf(edits)
  const sought = outputs.find(({ written }) => written.length > 0)
  if (sought === undefined) return []
  for (let at = message.indexOf(sought.written); at >= 0; at = message.indexOf(sought.written, at + 1)) {
    const item = at - sought.start
    const isObject = message[item] === OPEN_OBJECT && message[item + itemSize - 1] === CLOSE_OBJECT
    const moved = outputs.map((edit) => ({ ...edit, start: item + edit.start, end: item + edit.end }))
    if (isObject && areIn(message, moved)) return moved
  }
  return []
}

/** Reverts the edits of an outgoing message. The result ends at the first byte that is not kept. */
export function inputOf(output: Buffer, edits: readonly KeptEdit[]): Buffer {
  const pieces: Buffer[] = []
  let from = 0
  let moved = 0
  for (const { start, end, replaced, length } of edits) {
    const at = start + moved
    if (at > output.length) break
    pieces.push(output.subarray(from, at), replaced)
    if (replaced.length < end - start) return Buffer.concat(pieces)
    from = at + length
    moved += length - (end - start)
  }
  return Buffer.concat([...pieces, output.subarray(from)])
}

/** Returns how many of `length` bytes at `start` lie within the kept beginning of a message. */
function keptOf(start: number, length: number): number {
  return Math.max(0, Math.min(length, KEPT_BYTES_MAX - start))
}
