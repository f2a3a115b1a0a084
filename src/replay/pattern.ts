// An expected frame: its bytes, and the places where something else may stand.
//
// In a fixture the places are written as placeholders, strings that begin with `$`. In a recording they follow from the
// protocol, so that nothing in it is ever taken for a placeholder by accident.

import { toLine } from '../jsonrpc/line.js'
import type { Span } from '../jsonrpc/scan.js'
import { splice } from '../jsonrpc/splice.js'
import { RELATED_TASK } from '../mcp/meta-keys.js'
import { errorText } from '../text/error-text.js'
import { type JsonNode, child, kindOf, partsOf, readTree, textOf } from './json-tree.js'

/** The values that match at one place. */
export type Hole =
  | { readonly kind: 'any' }
  | { readonly kind: 'type'; readonly type: 'string' | 'number' }
  /** A string that the whole expression matches. */
  | { readonly kind: 'match'; readonly expression: RegExp }
  /** Any value, which has that name from then on. */
  | { readonly kind: 'bind'; readonly name: string }
  /** The value of that name; the value in the frame, if the name has none yet. */
  | { readonly kind: 'same'; readonly name: string }
  /** Exactly this text. */
  | { readonly kind: 'literal'; readonly text: string }

export interface Pattern {
  readonly bytes: Buffer
  readonly tree: JsonNode
  /** The keys are the offsets at which the values begin. */
  readonly holes: ReadonlyMap<number, Hole>
  /** The offsets of the objects that may have further members. */
  readonly open: ReadonlySet<number>
  /** Whether dates in texts may differ, as they do from one run of a recording to the next. */
  readonly timesVary: boolean
}

/** The pattern that a frame did not fit, and the offset in it at which that was found. */
export interface Refused {
  readonly pattern: Pattern
  readonly at: number
}

/** A place in a frame that we send, and the name of the value that goes there. */
export interface Fill extends Span {
  readonly name: string
}

/** A member of this name, with the value "any", says that its object may have further members. */
const REST = '$rest'
export const REST_PATH: string = `.${REST}`

/** A mistake in a placeholder. */
export class PatternError extends Error {
  override readonly name = 'PatternError'
}

/** A recorded frame, in which times may vary and nothing else. */
export function recordedPattern(bytes: Buffer): Pattern {
  return { bytes, tree: readTree(bytes), holes: new Map(), open: new Set(), timesVary: true }
}

/** A frame that we send, with the values of the names in its places. */
export function filled(
  { bytes, fills }: { readonly bytes: Buffer; readonly fills: readonly Fill[] },
  values: ReadonlyMap<string, string>,
): Buffer {
  const edits = fills.flatMap(({ start, end, name }) => {
    const value = values.get(name)
    return value === undefined ? [] : [{ start, end, bytes: Buffer.from(value), why: 'chosen' }]
  })
  return edits.length === 0 ? bytes : splice(toLine(bytes), edits).joined
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
  return { bytes, tree, holes, open, timesVary: false }
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

/**
 * The frame that came, as a transcript writes it: with the placeholders of the pattern that fit, and without the members that
 * the pattern leaves open.
 */
export function written(bytes: Buffer, refused: Refused | undefined, isFixture: boolean): Buffer {
  const { pattern, at: refusedAt } = refused ?? {}
  const write = (came: JsonNode, expected: JsonNode | undefined): string => {
    const start = expected?.start ?? -1
    const hole = pattern?.holes.get(start)
    if (hole !== undefined && start !== refusedAt && misfit(hole, came) === undefined)
      return pattern?.bytes.toString('utf8', start, expected?.end) ?? ''
    const before = new Map(partsOf(expected).map(({ path, value }) => [path, value]))
    if (came.kind === 'object' && pattern?.open.has(start) === true) {
      const members = partsOf(came)
        .filter(({ path }) => before.has(path))
        .map(
          (part) =>
            `${bytes.toString('utf8', part.start, part.value.start)}${write(part.value, before.get(part.path))}`,
        )
      return `{${[...members, `"${REST}":"any"`].join()}}`
    }
    const isEscaped = isFixture && came.kind === 'string' && came.text.startsWith('$')
    let [text, at] = [isEscaped ? '"$' : '', isEscaped ? came.start + 1 : came.start]
    for (const { path, value } of partsOf(came)) {
      text += bytes.toString('utf8', at, value.start) + write(value, before.get(path))
      at = value.end
    }
    return text + bytes.toString('utf8', at, came.end)
  }
  return Buffer.from(write(readTree(bytes), pattern?.tree))
}

/** Why a value may not be at this place; undefined where it may. The values of names are compared elsewhere. */
export function misfit(hole: Hole, came: JsonNode): string | undefined {
  switch (hole.kind) {
    case 'any':
    case 'bind':
    case 'same':
      return undefined
    case 'type':
      return came.kind === hole.type ? undefined : `is ${kindOf(came)}, not a ${hole.type}`
    case 'match':
      if (came.kind !== 'string') return `is ${kindOf(came)}, not a string`
      return hole.expression.test(came.text) ? undefined : `does not match ${hole.expression.source}`
    case 'literal':
      return came.kind === 'string' && came.text === hole.text ? undefined : `is not "${hole.text}"`
  }
}

/** A value and the values in it, without those of `$rest`. */
function* nodes(node: JsonNode): IterableIterator<JsonNode> {
  yield node
  for (const { path, value } of partsOf(node)) if (path !== REST_PATH) yield* nodes(value)
}

function holeOf(text: string, bound: Set<string>): Hole {
  if (text === '$any') return { kind: 'any' }
  if (text === '$string') return { kind: 'type', type: 'string' }
  if (text === '$number') return { kind: 'type', type: 'number' }
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

// Values that the other end chooses anew in each session: the ids and progress tokens of its requests, the cursors of its
// lists, the states of its questions (`requestState`) and the ids of its tasks. These places, and no others, become holes of
// a recorded frame. Frames that are sent to the other end later name the same values.

/** A kind of value that the other end chose, its place, and whether the value is chosen there. */
type Chosen = readonly [what: string, node: JsonNode | undefined, isNew?: boolean]

/** Reads the frames of one client, and knows the names that its values have so far. */
export class FrameReader {
  readonly #recorded: boolean
  readonly #names = new Set<string>()

  constructor(recorded: boolean) {
    this.#recorded = recorded
  }

  /** A frame that is expected. */
  pattern(bytes: Buffer): Pattern {
    if (!this.#recorded) return readMessagePattern(bytes, this.#names)
    const pattern = recordedPattern(bytes)
    const holes = new Map<number, Hole>()
    for (const { name, node, isNew } of named(bytes, pattern.tree, chosenByServer)) {
      if (isNew) this.#names.add(name)
      if (this.#names.has(name)) holes.set(node.start, { kind: isNew ? 'bind' : 'same', name })
    }
    return { ...pattern, holes }
  }

  /** The places of a frame that we send which get such a value. */
  fills(bytes: Buffer): readonly Fill[] {
    const tree = readTree(bytes)
    if (!this.#recorded) return readFills(tree, this.#names)
    return named(bytes, tree, repeatedByClient)
      .filter(({ name }) => this.#names.has(name))
      .map(({ name, node: { start, end } }) => ({ start, end, name }))
  }
}

/** The chosen values of a message or a batch. The name of a value is its kind and its recorded text. */
function named(
  bytes: Buffer,
  tree: JsonNode,
  chosen: (message: JsonNode) => readonly Chosen[],
): { name: string; node: JsonNode; isNew: boolean }[] {
  const messages = tree.kind === 'array' ? tree.items : [tree]
  return messages.flatMap(chosen).flatMap(([what, node, isNew = false]) => {
    if (node === undefined) return []
    return [{ name: `${what} ${bytes.toString('utf8', node.start, node.end)}`, node, isNew }]
  })
}

function chosenByServer(message: JsonNode): Chosen[] {
  const method = textOf(child(message, 'method'))
  const requested: Chosen[] = [
    ['id', child(message, 'id'), true],
    ['token', child(message, 'params', '_meta', 'progressToken'), true],
  ]
  const isRequest = method !== undefined && child(message, 'id') !== undefined
  const isCancel = method === 'notifications/cancelled'
  return [
    ...(isRequest ? requested : []),
    ['id', isCancel ? child(message, 'params', 'requestId') : undefined],
    ['cursor', child(message, 'result', 'nextCursor'), true],
    ['state', child(message, 'result', 'requestState'), true],
    ['task', child(message, 'result', 'task', 'taskId'), true],
    ...tasksNamed(child(message, 'result')),
    ...tasksNamed(child(message, 'params')),
  ]
}

function repeatedByClient(message: JsonNode): Chosen[] {
  const params = child(message, 'params')
  const method = textOf(child(message, 'method'))
  if (method === undefined) return [['id', child(message, 'id')]]
  if (method === 'notifications/progress') return [['token', child(params, 'progressToken')]]
  return [
    ['cursor', child(params, 'cursor')],
    ['state', child(params, 'requestState')],
    ...tasksNamed(params),
  ]
}

function tasksNamed(object: JsonNode | undefined): Chosen[] {
  return [
    ['task', child(object, 'taskId')],
    ['task', child(object, '_meta', RELATED_TASK, 'taskId')],
  ]
}
