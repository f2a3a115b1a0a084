// An expected frame: its bytes, and the places where something else may stand.
//
// In a fixture the places are written as placeholders, strings that begin with `$`. In a recording they follow from the
// protocol, so that nothing in it is ever taken for a placeholder by accident.

import { toLine } from '../jsonrpc/line.js'
import type { Span } from '../jsonrpc/scan.js'
import { splice } from '../jsonrpc/splice.js'
import { RELATED_TASK } from '../mcp/meta-keys.js'
import { errorText } from '../text/error-text.js'
import { type JsonValue, readTree } from '../ask/json-value.js'

export interface Hole {
  /** Why a value does not fit. Absent: any value fits. */
  readonly misfit?: (came: JsonValue) => string | undefined
  /** The name of the value: the values of one name are the same, unless each one is new. */
  readonly name?: string
  readonly isNew?: boolean
}

export interface Pattern {
  readonly bytes: Buffer
  readonly tree: JsonValue
  /** The keys are the offsets at which the values begin. */
  readonly holes: ReadonlyMap<number, Hole>
  /** The offsets of the objects that may have further members. */
  readonly open: ReadonlySet<number>
  /** Whether dates in texts may differ, as they do from one run of a recording to the next. */
  readonly timesVary: boolean
}

/** The place of a named value in a frame that is sent. */
export interface Fill extends Span {
  readonly name: string
}

/** A member of this name, with the value "any", says that its object may have further members. */
export const REST = '$rest'

export class PatternError extends Error {
  override readonly name = 'PatternError'
}

/** A frame that is sent, with the values of the names in its places. */
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

/** Reads the frames of one client, and knows the names that its values have so far. */
export class FrameReader {
  readonly #isRecorded: boolean
  readonly #names: Set<string>

  constructor(isRecorded: boolean, names: Set<string> = new Set()) {
    this.#isRecorded = isRecorded
    this.#names = names
  }

  /** @throws PatternError for a string with `$` in front that is no placeholder */
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
   * The places that get a value which the other end chose.
   *
   * @throws PatternError for a name that no expected frame before it gives a value
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

/** A value and the values in it, without those of `$rest`. */
function* nodes(node: JsonValue): IterableIterator<JsonValue> {
  yield node
  for (const { name, value } of node.parts) if (name !== REST) yield* nodes(value)
}

/** The kind of a value, in words. */
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

// Values that the other end chooses anew in each session: the ids and progress tokens of its requests, the cursors of its
// lists, the states of its questions (`requestState`) and the ids of its tasks. These places, and no others, become holes of
// a recorded frame. Frames that are sent to the other end later name the same values.

/** `isNew`: the other end chooses the value there. */
type Chosen = readonly [what: string, path: readonly string[], isNew?: true]

interface ChosenPlaces {
  /** In requests and notifications. */
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

/** The chosen values of a message or a batch. The name of a value is its kind and its recorded text. */
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
