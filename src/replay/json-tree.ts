// A JSON text as a tree that loses nothing.
//
// Every node has its place in the bytes, numbers keep their spelling, and members keep their order and may be there twice, so
// that two texts can be compared and the place where they differ can be named.

import { OPEN_ARRAY, OPEN_OBJECT } from '../jsonrpc/ascii.js'
import { itemsAt, membersAt } from '../jsonrpc/members.js'
import { type Span, scanText } from '../jsonrpc/scan.js'
import { stringAt } from '../jsonrpc/text.js'
import { memberPath } from '../text/member-path.js'

/** Deeper than the proxy itself allows, and far from the end of the stack. */
const DEPTH_MAX = 1000

/** One value and its place; spans count from the start of the text. */
export interface JsonNode extends Span {
  readonly kind: 'object' | 'array' | 'string' | 'number' | 'boolean' | 'null'
  /** A string without its escapes; a number, `true`, `false` or `null` in its spelling. */
  readonly text: string
  /** The members of an object or the items of an array. */
  readonly parts: readonly Part[]
}

/** A member or an item; the first byte of a member is that of its key. */
export interface Part {
  /** Empty for an item. */
  readonly name: string
  /** The path from the object or the array. */
  readonly path: string
  readonly start: number
  readonly value: JsonNode
}

/** Reads one JSON text. @throws FrameError when the bytes are not one */
export function readTree(bytes: Buffer): JsonNode {
  return nodeAt(bytes, scanText(bytes, DEPTH_MAX))
}

/** The tree of a text; undefined for what is no JSON. */
export function jsonTreeOf(bytes: Buffer): JsonNode | undefined {
  try {
    return readTree(bytes)
  } catch {
    return undefined
  }
}

function nodeAt(bytes: Buffer, { start, end }: Span): JsonNode {
  const span = { start, end }
  if (bytes[start] === OPEN_OBJECT) {
    const parts = [...(membersAt(bytes, span) ?? [])].map(({ key, value }) => {
      const name = stringAt(bytes, key) ?? ''
      return { name, path: memberPath('$', name).slice(1), start: key.start, value: nodeAt(bytes, value) }
    })
    return { kind: 'object', text: '', parts, start, end }
  }
  if (bytes[start] === OPEN_ARRAY) {
    const items = itemsAt(bytes, span, Number.POSITIVE_INFINITY)
    const parts = items.map((item, at) => {
      return { name: '', path: `[${at}]`, start: item.start, value: nodeAt(bytes, item) }
    })
    return { kind: 'array', text: '', parts, start, end }
  }
  const string = stringAt(bytes, span)
  if (string !== undefined) return { kind: 'string', text: string, parts: [], start, end }
  const text = bytes.toString('latin1', start, end)
  const kind = text === 'null' ? 'null' : text === 'true' || text === 'false' ? 'boolean' : 'number'
  return { kind, text, parts: [], start, end }
}

/** The value behind these names of members, each the first of its name. */
export function child(node: JsonNode | undefined, ...names: readonly string[]): JsonNode | undefined {
  return names.reduce((at, name) => at?.parts.find((part) => part.name === name)?.value, node)
}

/** The node's text, when it is a string. */
export function textOf(node: JsonNode | undefined): string | undefined {
  return node?.kind === 'string' ? node.text : undefined
}

/** The path of the innermost value that holds the byte at `offset`. */
export function pathAt(node: JsonNode, offset: number, path = '$'): string {
  const part = node.parts.find(({ start, value }) => start <= offset && offset < value.end)
  return part === undefined ? path : pathAt(part.value, offset, `${path}${part.path}`)
}

/** The key by which a received frame is matched with an expected one. */
export interface Address {
  /** A value is JSON, but no message of JSON-RPC; bytes are no JSON at all. */
  readonly kind: 'answer' | 'message' | 'batch' | 'value' | 'bytes'
  /** The id, the method or the ids; empty for what has none. */
  readonly key: string
}

/** Stands for the id of an answer that has none, or `null`. */
const NO_ID = 'none'

export function addressOf(tree: JsonNode | undefined): Address {
  if (tree === undefined) return { kind: 'bytes', key: '' }
  if (tree.kind === 'array')
    return {
      kind: 'batch',
      key: tree.parts
        .map(({ value }) => idOf(value))
        .sort()
        .join(),
    }
  const method = textOf(child(tree, 'method'))
  if (method !== undefined) return { kind: 'message', key: method }
  const isAnswer = tree.parts.some(({ name }) => name === 'result' || name === 'error')
  return isAnswer ? { kind: 'answer', key: idOf(tree) } : { kind: 'value', key: '' }
}

/** One text for all spellings of a message's id. */
export function idOf(message: JsonNode): string {
  const id = child(message, 'id')
  if (id?.kind === 'string') return JSON.stringify(id.text)
  if (id?.kind !== 'number') return NO_ID
  return Number.isSafeInteger(Number(id.text)) ? String(Number(id.text)) : id.text
}

/** The kind of a value, in words. */
export function kindOf({ kind }: JsonNode): string {
  return kind === 'null' ? 'null' : `${/^[aeiou]/.test(kind) ? 'an' : 'a'} ${kind}`
}

/** A sent or expected frame in words. */
export function describe(tree: JsonNode | undefined): string {
  const { kind, key } = addressOf(tree)
  const isNotification = child(tree, 'id') === undefined
  const words = {
    answer: key === NO_ID ? 'an answer without an id' : `the answer to id ${key}`,
    message: `the ${isNotification ? 'notification' : 'request'} ${key}`,
    batch: `a batch of ${tree?.parts.length}`,
    value: 'a JSON value that is no message',
    bytes: 'bytes that are no JSON',
  }
  return words[kind]
}
