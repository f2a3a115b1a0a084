// One line of a transcript behind its header.
//
// A key that is not known is a mistake and not ignored: a misspelt `optional`
// would silently make a fixture say something else.

import type { Mode } from './compare.js'
import { type JsonNode, type ObjectNode, child, readTree, textOf } from './json-tree.js'
import { PatternError } from './pattern.js'

/** A transcript that cannot be replayed as it is written. */
export class TranscriptError extends Error {
  override readonly name = 'TranscriptError'

  constructor(file: string, line: number | undefined, problem: string) {
    super(`${file}${line === undefined ? '' : `:${line}`}: ${problem}`)
  }
}

interface Framed {
  readonly line: number
  readonly connection: number
  readonly schema: string | undefined
  readonly bytes: Buffer
  readonly isJson: boolean
  readonly lineEnd: string
  /** One message, whatever line breaks it has. */
  readonly whole: boolean
}

export type Entry =
  | ({ readonly kind: 'in' } & Framed)
  | ({
      readonly kind: 'out'
      readonly mode: Mode
      readonly optional: boolean
      readonly unordered: boolean
    } & Framed)
  | { readonly kind: 'exit'; readonly line: number; readonly connection: number; readonly code: number }

const KEYS: ReadonlySet<string> = new Set(
  't hop service schema conn dir frame text junk64 whole eol expect optional unordered exit comment'.split(
    ' ',
  ),
)

/**
 * What a line says about the client's side; undefined for a comment and for what passed between the proxy
 * and its servers.
 *
 * @throws PatternError when it is not written as it must be
 */
export function readEntry(tree: JsonNode, bytes: Buffer, line: number): Entry | undefined {
  if (tree.kind !== 'object') throw new PatternError('a line must be an object')
  refuseUnknown(tree, KEYS)
  const hop = textOf(child(tree, 'hop')) ?? 'client'
  if (hop !== 'client' && hop !== 'upstream') throw new PatternError(`"hop" must be "client" or "upstream"`)
  if (hop === 'upstream' || tree.members.every(({ name }) => name === 'comment')) return undefined
  const connection = wholeNumber(tree, 'conn') ?? 1
  const code = wholeNumber(tree, 'exit')
  if (code !== undefined) return { kind: 'exit', line, connection, code }
  return framed(tree, bytes, { line, connection, schema: textOf(child(tree, 'schema')) })
}

export function refuseUnknown({ members }: ObjectNode, known: ReadonlySet<string>): void {
  const stray = members.find(({ name }) => !known.has(name))
  if (stray !== undefined)
    throw new PatternError(`"${stray.name}" is not known; there is ${[...known].join(', ')}`)
}

function framed(tree: ObjectNode, bytes: Buffer, at: Pick<Framed, 'line' | 'connection' | 'schema'>): Entry {
  const frame = { ...at, ...payload(tree, bytes) }
  const direction = textOf(child(tree, 'dir'))
  if (direction === 'in') return { kind: 'in', ...frame }
  if (direction !== 'out') {
    throw new PatternError('"dir" must be "in" (sent by the client) or "out" (expected by it)')
  }
  const [optional, unordered] = [flag(tree, 'optional'), flag(tree, 'unordered')]
  return { kind: 'out', ...frame, mode: modeOf(tree), optional, unordered }
}

function payload(tree: ObjectNode, bytes: Buffer): Omit<Framed, 'line' | 'connection' | 'schema'> {
  const frame = child(tree, 'frame')
  const lineEnd = textOf(child(tree, 'eol')) ?? '\n'
  const whole = flag(tree, 'whole')
  if (frame !== undefined)
    return { bytes: bytes.subarray(frame.start, frame.end), isJson: true, lineEnd, whole }
  const text = textOf(child(tree, 'text'))
  const junk = textOf(child(tree, 'junk64'))
  if (text === undefined && junk === undefined)
    throw new PatternError('a line needs a "frame", a "text" or a "junk64"')
  const said = text === undefined ? Buffer.from(junk ?? '', 'base64') : Buffer.from(text)
  const isLine = text !== undefined || whole
  return { bytes: said, isJson: whole && isJson(said), lineEnd: isLine ? lineEnd : '', whole }
}

function isJson(bytes: Buffer): boolean {
  try {
    readTree(bytes)
    return true
  } catch {
    return false
  }
}

export function modeOf(tree: ObjectNode): Mode {
  const node = child(tree, 'expect')
  const mode = node === undefined ? 'bytes' : textOf(node)
  if (mode === 'bytes' || mode === 'json') return mode
  throw new PatternError('"expect" must be "bytes" or "json"')
}

export function flag(tree: ObjectNode, name: string): boolean {
  const node = child(tree, name)
  if (node === undefined) return false
  if (node.kind === 'boolean') return node.text === 'true'
  throw new PatternError(`"${name}" must be true or false`)
}

export function wholeNumber(tree: ObjectNode, name: string): number | undefined {
  const node = child(tree, name)
  if (node === undefined) return undefined
  if (node.kind === 'number' && Number.isSafeInteger(Number(node.text))) return Number(node.text)
  throw new PatternError(`"${name}" must be an wholeNumber`)
}
