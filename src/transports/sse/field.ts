// One line of an event stream: which field it is, and where its value begins.

import { OPEN_OBJECT, SPACE } from '../../jsonrpc/ascii.js'

export interface SseField {
  /** `other` for comments and for fields that nobody knows. */
  readonly name: 'data' | 'event' | 'id' | 'retry' | 'other'
  readonly start: number
}

const names = ['data', 'event', 'id', 'retry'] as const

const NAME_LENGTH_MAX = 5

/** Reads the line from `start` to `end`; one space behind the colon belongs to neither name nor value. */
export function sseField(memory: Buffer, start: number, end: number): SseField {
  const beginning = memory.toString('latin1', start, Math.min(end, start + NAME_LENGTH_MAX + 1))
  const [before, behind] = beginning.split(':', 2)
  const name = names.find((each) => each === before)
  if (name === undefined || behind === undefined) return { name: name ?? 'other', start: end }
  const value = start + name.length + 1
  return { name, start: memory[value] === SPACE && value < end ? value + 1 : value }
}

/** Where the object begins that a line from `start` on has as its data; undefined when it has none, or that is behind these bytes. */
export function objectData(bytes: Buffer, start: number): number | undefined {
  const field = sseField(bytes, start, bytes.length)
  return field.name === 'data' && bytes[field.start] === OPEN_OBJECT ? field.start : undefined
}
