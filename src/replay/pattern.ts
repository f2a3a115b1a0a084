// An expected frame: its bytes, and its holes, the places whose values may differ.
//
// A fixture marks holes with placeholders, strings that begin with `$`. In a recording the holes follow from the
// protocol, so that no recorded string acts as a placeholder by accident.

import { toLine } from '../jsonrpc/line.js'
import type { Span } from '../jsonrpc/scan.js'
import { splice } from '../jsonrpc/splice.js'
import { RELATED_TASK } from '../mcp/meta-keys.js'
import { errorText } from '../text/error-text.js'
import { type JsonValue, readTree } from '../ask/json-value.js'

export interface Hole {
  /** Returns why a value does not fit. Absent if any value fits. */
  readonly misfit?: (came: JsonValue) => string | undefined
  /** The name of the value. All holes with one name have the same value, unless `isNew`. */
  readonly name?: string
  readonly isNew?: boolean
}

export interface Pattern {
  readonly bytes: Buffer
  readonly tree: JsonValue
  /** The holes by the offsets of their values. */
  readonly holes: ReadonlyMap<number, Hole>
  /** The offsets of objects that may have further members. */
  readonly open: ReadonlySet<number>
  /** Whether dates in strings may differ. In a recording they differ from run to run. */
  readonly timesVary: boolean
}

/** The place of a named value in a frame that the replay sends. */
export interface Fill extends Span {
  readonly name: string
}

/** An object with a member of this name, and the value "any", may have further members. */
export const REST = '$rest'

export class PatternError extends Error {
  override readonly name = 'PatternError'
}

/** Returns the frame to send, with the values of its named places. */
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

/** Reads the frames of one client, and remembers the names of values in earlier frames. */
export class FrameReader {
  readonly #isRecorded: boolean
  readonly #names: Set<string>

  constructor(isRecorded: boolean, names: Set<string> = new Set()) {
    this.#isRecorded = isRecorded
    this.#names = names
  }

  /** @throws PatternError for a string that begins with `$` and is no placeholder */
  pattern(bytes: Buffer): Pattern {
    const tree = readTree(bytes)
    const holes = new Map<number, Hole>()
    const open = new Set<number>()
    const pattern = { bytes, tree, holes, open, timesVary: this.#isRecorded }
    if (!this.#isRecorded)
      for (const node of nodes(tree)) {
        if (node.kind === 'string' && node.text.startsWith('$')) holes.set(node.start, this.#hole(node.text))
        if (node.member(REST) !== undefined) open.add(node.start)
      }
    else
      for (const { name, start, isNew } of chosenIn(bytes, tree, ofServer)) {
        if (isNew) this.#names.add(name)
        if (this.#names.has(name)) holes.set(start, { name, isNew })
      }
    return pattern
  }

  /**
   * Returns the places whose values the server has chosen.
   *
   * @throws PatternError for a name without a value in an earlier expected frame
   */
  fills(bytes: Buffer): readonly Fill[] {
    const tree = readTree(bytes)
    if (this.#isRecorded) return chosenIn(bytes, tree, ofClient).filter(({ name }) => this.#names.has(name))
    return [...nodes(tree)].flatMap(({ kind, text, start, end }) => {
      const name = kind === 'string' ? nameIn(text) : undefined
      if (name === undefined) return []
      if (this.#names.has(name)) return [{ start, end, name }]
      throw new PatternError(`"$id:${name}" is sent, but no frame before it gives it a value`)
    })
  }

  #hole(text: string): Hole {
    const [, type] = /^\$(string|number)$/.exec(text) ?? []
    const [, source] = /^\$match:(.*)$/s.exec(text) ?? []
    const name = nameIn(text)
    if (text === '$any') return {}
    if (type !== undefined)
      return { misfit: (came) => (came.kind === type ? undefined : `is ${kindOf(came)}, not a ${type}`) }
    if (source !== undefined) return matching(source)
    if (text.startsWith('$$'))
      return {
        misfit: (came) =>
          came.kind === 'string' && came.text === text.slice(1) ? undefined : `is not "${text.slice(1)}"`,
      }
    if (name === undefined)
      throw new PatternError(`"${text}" is no placeholder; text that begins with $ is written $$`)
    this.#names.add(name)
    return { name }
  }
}

/** Yields a value and all nested values, except the values of `$rest`. */
function* nodes(node: JsonValue): IterableIterator<JsonValue> {
  yield node
  for (const { name, value } of node.parts) if (name !== REST) yield* nodes(value)
}

export function kindOf({ kind }: JsonValue): string {
  return kind === 'null' ? 'null' : `${/^[aeiou]/.test(kind) ? 'an' : 'a'} ${kind}`
}

function nameIn(text: string): string | undefined {
  return /^\$id:([\w-]+)$/.exec(text)?.[1]
}

function matching(source: string): Hole {
  try {
    const expression = new RegExp(`^(?:${source})$`, 'su')
    return {
      misfit: (came) => {
        if (came.kind !== 'string') return `is ${kindOf(came)}, not a string`
        return expression.test(came.text) ? undefined : `does not match ${expression.source}`
      },
    }
  } catch (error) {
    throw new PatternError(`"$match:${source}": ${errorText(error)}`)
  }
}

// The server chooses some values anew in each session: ids and progress tokens of requests, cursors of lists,
// values of `requestState` and ids of tasks. Only these places become holes of a recorded frame. Frames that the
// replay sends later contain the same values.

/** `isNew`: the server chooses the value in this place. */
type Chosen = readonly [what: string, path: readonly string[], isNew?: true]

interface ChosenPlaces {
  /** The places in requests and notifications. */
  readonly asked: readonly Chosen[]
  readonly answered: readonly Chosen[]
}

const tasksIn = (member: string): readonly Chosen[] => [
  ['task', [member, 'taskId']],
  ['task', [member, '_meta', RELATED_TASK, 'taskId']],
]

const ofServer: ChosenPlaces = {
  asked: [
    ['id', ['id'], true],
    ['token', ['params', '_meta', 'progressToken'], true],
    ['id', ['params', 'requestId']],
    ...tasksIn('params'),
  ],
  answered: [
    ['cursor', ['result', 'nextCursor'], true],
    ['state', ['result', 'requestState'], true],
    ['task', ['result', 'task', 'taskId'], true],
    ...tasksIn('result'),
  ],
}

const ofClient: ChosenPlaces = {
  asked: [
    ['token', ['params', 'progressToken']],
    ['cursor', ['params', 'cursor']],
    ['state', ['params', 'requestState']],
    ...tasksIn('params'),
  ],
  answered: [['id', ['id']]],
}

/** Returns the chosen values of a message or a batch. The name of a value is its kind and its recorded text. */
function chosenIn(
  bytes: Buffer,
  tree: JsonValue,
  { asked, answered }: ChosenPlaces,
): (Fill & { readonly isNew: boolean })[] {
  const messages = tree.kind === 'array' ? tree.parts.map(({ value }) => value) : [tree]
  return messages.flatMap((message) =>
    (message.member('method') === undefined ? answered : asked).flatMap(([what, path, isNew = false]) => {
      const node = message.member(...path)
      if (node === undefined) return []
      const { start, end } = node
      return [{ name: `${what} ${bytes.toString('utf8', start, end)}`, start, end, isNew }]
    }),
  )
}
