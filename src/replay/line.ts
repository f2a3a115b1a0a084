// One line of a transcript, behind its header.
//
// A key that is not known is a mistake and not ignored: a misspelt `optional`
// would silently make a fixture say something else.

import type { Mode } from './compare.js'
import { type ObjectNode, child, jsonTreeOf, textOf } from './json-tree.js'
import { type Fill, type Pattern, PatternError } from './pattern.js'

/** A transcript that cannot be replayed. */
export class TranscriptError extends Error {
  override readonly name = 'TranscriptError'

  constructor(file: string, line: number | undefined, problem: string) {
    super(`${file}${line === undefined ? '' : `:${line}`}: ${problem}`)
  }
}

export interface Sent {
  readonly kind: 'send'
  /** Counted from 1. */
  readonly line: number
  readonly bytes: Buffer
  readonly lineEnd: string
  /** One message, with all line breaks in it. */
  readonly whole: boolean
  readonly fills: readonly Fill[]
}

export interface Expected {
  readonly kind: 'expect'
  readonly line: number
  readonly bytes: Buffer
  /** Undefined for what is no JSON, which is compared as bytes. */
  readonly pattern: Pattern | undefined
  readonly mode: Mode
  /** It need not come. */
  readonly optional: boolean
  /** Its place among the messages of the other end is free. */
  readonly unordered: boolean
}

export interface Exit {
  readonly kind: 'exit'
  readonly line: number
  readonly code: number
}

export type Step = Sent | Expected | Exit

/** Knows the names that the values of one client have so far. */
export interface FrameReader {
  pattern(bytes: Buffer): Pattern
  fills(bytes: Buffer): readonly Fill[]
}

const KEYS: ReadonlySet<string> = new Set(
  't hop service schema conn dir frame text junk64 whole eol expect optional unordered exit comment'.split(
    ' ',
  ),
)

/**
 * Whether a line is a comment, or passed between the proxy and its servers.
 *
 * @throws PatternError for a key that is not known
 */
export function isIgnored(tree: ObjectNode): boolean {
  refuseUnknown(tree, KEYS)
  const hop = textOf(child(tree, 'hop')) ?? 'client'
  if (hop !== 'client' && hop !== 'upstream') throw new PatternError(`"hop" must be "client" or "upstream"`)
  return hop === 'upstream' || tree.members.every(({ name }) => name === 'comment')
}

/** @throws PatternError when it is not written as it must be */
export function readStep(tree: ObjectNode, text: Buffer, line: number, reader: FrameReader): Step {
  const code = wholeNumber(tree, 'exit')
  if (code !== undefined) return { kind: 'exit', line, code }
  const content = contentOf(tree, text)
  if (content === undefined) throw new PatternError('a line needs a "frame", a "text" or a "junk64"')
  const { kind, bytes } = content
  const whole = flag(tree, 'whole')
  const isJson = kind === 'frame' || (whole && jsonTreeOf(bytes) !== undefined)
  const direction = textOf(child(tree, 'dir'))
  if (direction === 'in') {
    const lineEnd = kind === 'junk' && !whole ? '' : (textOf(child(tree, 'eol')) ?? '\n')
    return { kind: 'send', line, bytes, lineEnd, whole, fills: isJson ? reader.fills(bytes) : [] }
  }
  if (direction !== 'out')
    throw new PatternError('"dir" must be "in" (sent by the client) or "out" (expected by it)')
  const pattern = isJson ? reader.pattern(bytes) : undefined
  const [optional, unordered] = [flag(tree, 'optional'), flag(tree, 'unordered')]
  return { kind: 'expect', line, bytes, pattern, mode: modeOf(tree), optional, unordered }
}

export function refuseUnknown({ members }: ObjectNode, known: ReadonlySet<string>): void {
  const stray = members.find(({ name }) => !known.has(name))
  if (stray !== undefined)
    throw new PatternError(`"${stray.name}" is not known; there is ${[...known].join(', ')}`)
}

/** The content of a line: a frame, a text, or any bytes. */
export function contentOf(
  tree: ObjectNode,
  line: Buffer,
): { readonly kind: 'frame' | 'text' | 'junk'; readonly bytes: Buffer } | undefined {
  const frame = child(tree, 'frame')
  if (frame !== undefined) return { kind: 'frame', bytes: line.subarray(frame.start, frame.end) }
  const text = textOf(child(tree, 'text'))
  if (text !== undefined) return { kind: 'text', bytes: Buffer.from(text) }
  const junk = textOf(child(tree, 'junk64'))
  return junk === undefined ? undefined : { kind: 'junk', bytes: Buffer.from(junk, 'base64') }
}

export function modeOf(tree: ObjectNode): Mode {
  const node = child(tree, 'expect')
  const mode = node === undefined ? 'bytes' : textOf(node)
  if (mode === 'bytes' || mode === 'json') return mode
  throw new PatternError('"expect" must be "bytes" or "json"')
}

function flag(tree: ObjectNode, name: string): boolean {
  const node = child(tree, name)
  if (node === undefined) return false
  if (node.kind === 'boolean') return node.text === 'true'
  throw new PatternError(`"${name}" must be true or false`)
}

export function wholeNumber(tree: ObjectNode, name: string): number | undefined {
  const node = child(tree, name)
  if (node === undefined) return undefined
  if (node.kind === 'number' && Number.isSafeInteger(Number(node.text))) return Number(node.text)
  throw new PatternError(`"${name}" must be a whole number`)
}
