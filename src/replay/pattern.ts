// An expected frame: its bytes, and the places where something else may stand.
//
// In a fixture the places are written as placeholders, strings that begin with
// `$`. In a recording they follow from the protocol (see `chosen.ts`), so that
// nothing in it is ever taken for a placeholder by accident.

import { errorText } from '../text/error-text.js'
import { type JsonNode, readTree } from './json-tree.js'

/** The values that match at one place. */
export type Hole =
  | { readonly kind: 'any' }
  | { readonly kind: 'string' }
  | { readonly kind: 'number' }
  /** A string that the whole expression matches. */
  | { readonly kind: 'match'; readonly expression: RegExp }
  /** Any value, which has that name from then on. */
  | { readonly kind: 'bind'; readonly name: string }
  /** The value that has that name; what is written here, while none has it. */
  | { readonly kind: 'same'; readonly name: string }
  /** Exactly this text. */
  | { readonly kind: 'literal'; readonly text: string }

export interface Pattern {
  readonly bytes: Buffer
  readonly tree: JsonNode
  /** By where the value begins. */
  readonly holes: ReadonlyMap<number, Hole>
  /** The offsets of the objects that may have further members. */
  readonly open: ReadonlySet<number>
}

/** A place in a frame that we send, and the name of the value that goes there. */
export interface Fill {
  readonly start: number
  readonly end: number
  readonly name: string
}

/** A member of this name, with the value "any", says that its object may have further members. */
export const REST = '$rest'

/** A mistake in a placeholder. */
export class PatternError extends Error {
  override readonly name = 'PatternError'
}

/** A frame in which nothing varies. */
export function exactPattern(bytes: Buffer): Pattern {
  return { bytes, tree: readTree(bytes), holes: new Map(), open: new Set() }
}

/**
 * Reads the placeholders of an expected frame; `bound` are the names that have values, and gets those that
 * get one here.
 *
 * @throws PatternError for a string with `$` in front that is no placeholder
 */
export function readMessagePattern(bytes: Buffer, bound: Set<string>): Pattern {
  const tree = readTree(bytes)
  const holes = new Map<number, Hole>()
  const open = new Set<number>()
  for (const node of nodes(tree)) {
    if (node.kind === 'string' && node.text.startsWith('$')) holes.set(node.start, holeOf(node.text, bound))
    if (node.kind === 'object' && node.members.some(({ name }) => name === REST)) open.add(node.start)
  }
  return { bytes, tree, holes, open }
}

/**
 * The places of a frame that we send which get a value that the other end chose.
 *
 * @throws PatternError for a name that no expected frame before it gives a value
 */
export function readFills(tree: JsonNode, bound: ReadonlySet<string>): Fill[] {
  const fills: Fill[] = []
  for (const node of nodes(tree)) {
    const name = node.kind === 'string' ? nameIn(node.text) : undefined
    if (name === undefined) continue
    if (!bound.has(name))
      throw new PatternError(`"$id:${name}" is sent, but no frame before it gives it a value`)
    fills.push({ start: node.start, end: node.end, name })
  }
  return fills
}

function* nodes(node: JsonNode): IterableIterator<JsonNode> {
  yield node
  if (node.kind === 'array') for (const item of node.items) yield* nodes(item)
  if (node.kind === 'object') {
    for (const { name, value } of node.members) if (name !== REST) yield* nodes(value)
  }
}

function holeOf(text: string, bound: Set<string>): Hole {
  if (text === '$any') return { kind: 'any' }
  if (text === '$string') return { kind: 'string' }
  if (text === '$number') return { kind: 'number' }
  if (text.startsWith('$$')) return { kind: 'literal', text: text.slice(1) }
  if (text.startsWith('$match:'))
    return { kind: 'match', expression: expressionOf(text.slice('$match:'.length)) }
  const name = nameIn(text)
  if (name === undefined)
    throw new PatternError(`"${text}" is no placeholder; text that begins with $ is written $$`)
  if (bound.has(name)) return { kind: 'same', name }
  bound.add(name)
  return { kind: 'bind', name }
}

function nameIn(text: string): string | undefined {
  return /^\$id:([\w-]+)$/.exec(text)?.[1]
}

function expressionOf(source: string): RegExp {
  try {
    return new RegExp(`^(?:${source})$`, 'su')
  } catch (error) {
    throw new PatternError(`"$match:${source}": ${errorText(error)}`)
  }
}
