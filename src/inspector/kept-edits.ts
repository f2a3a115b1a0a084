// Stores edits as bytes in the arena: four numbers for each edit, then the replaced bytes, then the written bytes.

import type { Span } from '../jsonrpc/scan.js'
import { Buffer } from 'node:buffer'
import { type Edit, type EditReason, editReasons } from '../jsonrpc/splice.js'
import { type Arena, KEPT_BYTES_MAX } from './arena.js'

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

/** Start, end, length and reason have four bytes each. */
const HEAD_BYTES = 16

const numberOf: ReadonlyMap<EditReason, number> = new Map(editReasons.map((why, at) => [why, at]))

/** Copies edits, which are in order and do not overlap, and returns the place of the copies. */
export function keepEdits(arena: Arena, input: Uint8Array, edits: readonly Edit[]): number {
  let size = 0
  let moved = 0
  for (const { start, end, bytes } of edits) {
    size += HEAD_BYTES + keptOf(start, end - start) + keptOf(start + moved, bytes.length)
    moved += bytes.length - (end - start)
  }
  const place = arena.reserve(size)
  const { memory, numbers } = arena
  let at = arena.indexOf(place)
  moved = 0
  for (const { start, end, bytes, why } of edits) {
    numbers.setUint32(at, start)
    numbers.setUint32(at + 4, end)
    numbers.setUint32(at + 8, bytes.length)
    numbers.setUint32(at + 12, numberOf.get(why) ?? 0)
    at += HEAD_BYTES
    const replaced = keptOf(start, end - start)
    copyBytes(input, start, replaced, memory, at)
    at += replaced
    const written = keptOf(start + moved, bytes.length)
    copyBytes(bytes, 0, written, memory, at)
    at += written
    moved += bytes.length - (end - start)
  }
  return place
}

/** Up to this length, a loop copies bytes faster than a call of `set`. */
const FEW_BYTES = 24

function copyBytes(from: Uint8Array, start: number, length: number, to: Buffer, at: number): void {
  if (length > FEW_BYTES) to.set(from.subarray(start, start + length), at)
  else for (let i = 0; i < length; i++) to[at + i] = from[start + i] ?? 0
}

/** Reads `count` edits whose copies begin at `place`. */
export function keptEdits(arena: Arena, place: number, count: number): KeptEdit[] {
  const { memory, numbers } = arena
  let at = arena.indexOf(place)
  let moved = 0
  return Array.from({ length: count }, (): KeptEdit => {
    const [start, end, length] = [numbers.getUint32(at), numbers.getUint32(at + 4), numbers.getUint32(at + 8)]
    const why = editReasons[numbers.getUint32(at + 12)] ?? 'id'
    const replacedAt = at + HEAD_BYTES
    const writtenAt = replacedAt + keptOf(start, end - start)
    at = writtenAt + keptOf(start + moved, length)
    moved += length - (end - start)
    const replaced = memory.subarray(replacedAt, writtenAt)
    return { start, end, why, replaced, written: memory.subarray(writtenAt, at), length }
  })
}

/** Whether the message contains the bytes that these edits wrote, as far as the arena has them. */
export function containsEdits(message: Buffer, arena: Arena, place: number, count: number): boolean {
  const { memory, numbers } = arena
  let at = arena.indexOf(place)
  let moved = 0
  for (let edit = 0; edit < count; edit++) {
    const [start, end, length] = [numbers.getUint32(at), numbers.getUint32(at + 4), numbers.getUint32(at + 8)]
    const written = at + HEAD_BYTES + keptOf(start, end - start)
    const kept = keptOf(start + moved, length)
    for (let i = 0; i < kept; i++) if (memory[written + i] !== message[start + moved + i]) return false
    at = written + kept
    moved += length - (end - start)
  }
  return true
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
    const isHere = moved.every(({ start, written }) =>
      written.equals(message.subarray(start, start + written.length)),
    )
    if (isObject && isHere) return moved
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
