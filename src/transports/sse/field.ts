// One line of an event stream: which field it is, and where its value begins.

import { COLON, OPEN_OBJECT, SPACE } from '../../jsonrpc/ascii.js'

export interface SseField {
  /** `other` for comments and for fields that nobody knows. */
  readonly name: 'data' | 'event' | 'id' | 'retry' | 'other'
  readonly start: number
}

const names = ['data', 'event', 'id', 'retry'] as const

/** Reads the line from `start` to `end`; one space behind the colon belongs to neither name nor value. */
export function sseField(memory: Buffer, start: number, end: number): SseField {
  const name = names.find((each) => isNamed(memory, start, end, each))
  if (name === undefined) return { name: 'other', start: end }
  const colon = start + name.length
  if (colon === end) return { name, start: end }
  return { name, start: memory[colon + 1] === SPACE && colon + 1 < end ? colon + 2 : colon + 1 }
}

/** Where the object begins that a line from `start` on has as its data; undefined when it has none, or that is behind these bytes. */
export function objectData(bytes: Buffer, start: number): number | undefined {
  const field = sseField(bytes, start, bytes.length)
  return field.name === 'data' && bytes[field.start] === OPEN_OBJECT ? field.start : undefined
}

function isNamed(memory: Buffer, start: number, end: number, name: string): boolean {
  if (end - start < name.length) return false
  for (let i = 0; i < name.length; i++) if (memory[start + i] !== name.charCodeAt(i)) return false
  return start + name.length === end || memory[start + name.length] === COLON
}
