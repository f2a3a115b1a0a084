// Lines of a transcript that say what crosses HTTP itself: requests, responses, events.

import type { Mode } from './compare.js'
import { type JsonNode, type ObjectNode, child, readTree, textOf } from './json-tree.js'
import { contentOf, flag, modeOf, refuseUnknown } from './line.js'
import {
  type Fill,
  type Filled,
  type Pattern,
  PatternError,
  readFilled,
  readFills,
  readMessagePattern,
} from './pattern.js'

/** What is said of one header field; a null says that there is none. */
export interface HeaderField<T> {
  readonly name: string
  readonly values: readonly T[] | null
}

/** A body, or the data of an event, as it is expected. */
export type Payload =
  | { readonly kind: 'frame'; readonly bytes: Buffer; readonly pattern: Pattern; readonly mode: Mode }
  /** As a JSON string, so that placeholders mean the same. */
  | { readonly kind: 'text'; readonly bytes: Buffer; readonly pattern: Pattern }
  | { readonly kind: 'junk'; readonly bytes: Buffer }
  | { readonly kind: 'any'; readonly bytes: Buffer }

interface Line {
  /** Counted from 1. */
  readonly line: number
  /** Which request it belongs to; the empty text unless it has a name. */
  readonly on: string
}

export interface RequestStep extends Line {
  readonly kind: 'request'
  readonly method: string
  readonly target: Filled
  readonly fields: readonly HeaderField<Filled>[]
  readonly body: { readonly bytes: Buffer; readonly fills: readonly Fill[] } | undefined
}

export interface ResponseStep extends Line {
  readonly kind: 'response'
  readonly status: number
  readonly fields: readonly HeaderField<Pattern>[]
  /** Undefined where there is none, or where events follow. */
  readonly payload: Payload | undefined
}

export interface EventStep extends Line {
  readonly kind: 'event'
  readonly type: string
  /** Undefined leaves it free; null says that there is none. */
  readonly id: Pattern | null | undefined
  readonly retry: Pattern | null | undefined
  readonly payload: Payload
  readonly optional: boolean
}

/** The response ends here by itself. */
export interface EndStep extends Line {
  readonly kind: 'end'
}

/** We drop the connection. */
export interface CutStep extends Line {
  readonly kind: 'cut'
}

/** What is expected on a request. */
export type ExpectedStep = ResponseStep | EventStep | EndStep

export type HttpStep = RequestStep | CutStep | ExpectedStep

const marks = ['request', 'status', 'event', 'end', 'cut'] as const

const KEYS: ReadonlySet<string> = new Set(
  't hop conn dir request on headers status event id retry end cut frame text junk64 body expect optional comment'.split(
    ' ',
  ),
)

/** Whether a line is one of these. */
export function isHttpLine(tree: ObjectNode): boolean {
  return marks.some((name) => child(tree, name) !== undefined)
}

/**
 * Reads such a line; `names` are those that have values, and gets those that get one here.
 *
 * @throws PatternError when it is not written as it must be
 */
export function readHttpStep(tree: ObjectNode, bytes: Buffer, line: number, names: Set<string>): HttpStep {
  refuseUnknown(tree, KEYS)
  const given = marks.filter((name) => child(tree, name) !== undefined)
  const [mark] = given
  if (mark === undefined || given.length > 1) throw new PatternError(`a line is one of ${marks.join(', ')}`)
  const wanted = mark === 'request' || mark === 'cut' ? 'in' : 'out'
  if (textOf(child(tree, 'dir')) !== wanted) throw new PatternError(`"dir" of a ${mark} must be "${wanted}"`)
  const reader = new HttpLineReader(tree, bytes, names, { line, on: textOf(child(tree, 'on')) ?? '' })
  return reader[mark]()
}

/** Reads one line; lives for one call. */
class HttpLineReader {
  readonly #tree: ObjectNode
  readonly #bytes: Buffer
  readonly #names: Set<string>
  readonly #at: Line

  constructor(tree: ObjectNode, bytes: Buffer, names: Set<string>, at: Line) {
    this.#tree = tree
    this.#bytes = bytes
    this.#names = names
    this.#at = at
  }

  request(): RequestStep {
    const [, method, target] = /^([A-Z]+) (\S+)$/.exec(textOf(this.#child('request')) ?? '') ?? []
    if (method === undefined || target === undefined)
      throw new PatternError('"request" must be like "POST /mcp"')
    const { bytes, kind } = contentOf(this.#tree, this.#bytes) ?? {}
    const body = bytes && { bytes, fills: kind === 'frame' ? readFills(readTree(bytes), this.#names) : [] }
    const fields = filledFields(this.#child('headers'), this.#names)
    return { ...this.#at, kind: 'request', method, target: readFilled(target, this.#names), fields, body }
  }

  status(): ResponseStep {
    const node = this.#child('status')
    const status = node?.kind === 'number' ? Number(node.text) : NaN
    if (!Number.isInteger(status)) throw new PatternError('"status" must be a number')
    const fields = fieldsOf(this.#child('headers'), (value) => this.#pattern(value))
    return { ...this.#at, kind: 'response', status, fields, payload: this.#payload() }
  }

  event(): EventStep {
    const type = textOf(this.#child('event'))
    const [id, retry, payload] = [this.#free('id'), this.#free('retry'), this.#payload()]
    if (type === undefined || payload === undefined)
      throw new PatternError('"event" must be a text, and needs a "frame", a "text" or "body":"any"')
    return { ...this.#at, kind: 'event', type, id, retry, payload, optional: flag(this.#tree, 'optional') }
  }

  end(): EndStep {
    return { ...this.#at, kind: 'end' }
  }

  cut(): CutStep {
    return { ...this.#at, kind: 'cut' }
  }

  #child(name: string): JsonNode | undefined {
    return child(this.#tree, name)
  }

  #payload(): Payload | undefined {
    const content = contentOf(this.#tree, this.#bytes)
    const text = this.#child('text')
    if (content?.kind === 'frame') {
      const pattern = readMessagePattern(content.bytes, this.#names)
      return { kind: 'frame', bytes: content.bytes, pattern, mode: modeOf(this.#tree) }
    }
    if (text !== undefined)
      return { kind: 'text', bytes: Buffer.from(textOf(text) ?? ''), pattern: this.#pattern(text) }
    if (content !== undefined) return { kind: 'junk', bytes: content.bytes }
    const any = this.#child('body')
    if (any === undefined) return undefined
    if (textOf(any) !== 'any') throw new PatternError('"body" can only be "any"; write a "frame" or a "text"')
    return { kind: 'any', bytes: Buffer.from('(any body)') }
  }

  #free(name: string): Pattern | null | undefined {
    const node = this.#child(name)
    if (node === undefined) return undefined
    return node.kind === 'null' ? null : this.#pattern(node)
  }

  #pattern(node: JsonNode): Pattern {
    if (node.kind !== 'string')
      throw new PatternError('a header field, an id, a retry and a text are strings')
    return readMessagePattern(this.#bytes.subarray(node.start, node.end), this.#names)
  }
}

/** Fields that we send; `names` are those that have values, where that is known. */
export function filledFields(node: JsonNode | undefined, names?: ReadonlySet<string>): HeaderField<Filled>[] {
  return fieldsOf(node, (value) => {
    const text = textOf(value)
    if (text === undefined) throw new PatternError('a header field is a string')
    return readFilled(text, names)
  })
}

/** What an object says of header fields. */
function fieldsOf<T>(node: JsonNode | undefined, read: (node: JsonNode) => T): HeaderField<T>[] {
  if (node === undefined) return []
  if (node.kind !== 'object') throw new PatternError('"headers" must be an object')
  return node.members.map(({ name, value }) => ({
    name,
    values: value.kind === 'null' ? null : (value.kind === 'array' ? value.items : [value]).map(read),
  }))
}
