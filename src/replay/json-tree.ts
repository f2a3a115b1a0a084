// A JSON text as a tree that loses nothing.
//
// Every node knows where it stands in the bytes, numbers keep their spelling, and
// members keep their order and may stand twice, so that two texts can be compared
// and the place where they differ can be named.

import { itemsAt, membersAt } from '../jsonrpc/members.js'
import { type Span, scanText } from '../jsonrpc/scan.js'
import { stringAt } from '../jsonrpc/text.js'
import { memberPath } from '../text/member-path.js'

/** Deeper than the proxy itself allows, and far from the end of the stack. */
const DEPTH_MAX = 1000

const OPEN_OBJECT = 0x7b
const OPEN_ARRAY = 0x5b

export interface MemberNode {
  readonly name: string
  readonly keyStart: number
  readonly value: JsonNode
}

export interface ObjectNode extends Span {
  readonly kind: 'object'
  readonly members: readonly MemberNode[]
}

export interface ArrayNode extends Span {
  readonly kind: 'array'
  readonly items: readonly JsonNode[]
}

/** A string without its escapes; a number, `true`, `false` or `null` in its spelling. */
export interface PlainNode extends Span {
  readonly kind: 'string' | 'number' | 'boolean' | 'null'
  readonly text: string
}

/** One value and its place; spans count from the start of the text. */
export type JsonNode = ObjectNode | ArrayNode | PlainNode

/**
 * Reads one JSON text.
 *
 * @throws FrameError when the bytes are not one
 */
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
  const first = bytes[start]
  if (first === OPEN_OBJECT)
    return { kind: 'object', start, end, members: memberNodes(bytes, { start, end }) }
  if (first === OPEN_ARRAY) {
    const items = itemsAt(bytes, { start, end }, Number.POSITIVE_INFINITY).map((item) => nodeAt(bytes, item))
    return { kind: 'array', start, end, items }
  }
  const string = stringAt(bytes, { start, end })
  if (string !== undefined) return { kind: 'string', start, end, text: string }
  const text = bytes.toString('latin1', start, end)
  const kind = text === 'null' ? 'null' : text === 'true' || text === 'false' ? 'boolean' : 'number'
  return { kind, start, end, text }
}

function memberNodes(bytes: Buffer, span: Span): MemberNode[] {
  const members = membersAt(bytes, span) ?? []
  return [...members].map(({ key, value }) => ({
    name: stringAt(bytes, key) ?? '',
    keyStart: key.start,
    value: nodeAt(bytes, value),
  }))
}

/** The value behind these names of members, each the first of its name. */
export function child(node: JsonNode | undefined, ...names: readonly string[]): JsonNode | undefined {
  let value = node
  for (const name of names)
    value = value?.kind === 'object' ? value.members.find((each) => each.name === name)?.value : undefined
  return value
}

/** The node's text, when it is a string. */
export function textOf(node: JsonNode | undefined): string | undefined {
  return node?.kind === 'string' ? node.text : undefined
}

/** A value in an object or an array: its path from there, and the first byte of its member or item. */
export interface Part {
  readonly path: string
  readonly start: number
  readonly value: JsonNode
}

export function partsOf(node: JsonNode | undefined): Part[] {
  if (node?.kind === 'array')
    return node.items.map((value, at) => ({ path: `[${at}]`, start: value.start, value }))
  if (node?.kind !== 'object') return []
  return node.members.map(({ name, keyStart, value }) => ({
    path: memberPath('$', name).slice(1),
    start: keyStart,
    value,
  }))
}

/** The path of the innermost value that holds the byte at `offset`. */
export function pathAt(node: JsonNode, offset: number, path = '$'): string {
  const part = partsOf(node).find(({ start, value }) => start <= offset && offset < value.end)
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
  if (tree.kind === 'array') return { kind: 'batch', key: tree.items.map(idOf).sort().join() }
  const method = textOf(child(tree, 'method'))
  if (method !== undefined) return { kind: 'message', key: method }
  const isAnswer = child(tree, 'result') !== undefined || child(tree, 'error') !== undefined
  return isAnswer ? { kind: 'answer', key: idOf(tree) } : { kind: 'value', key: '' }
}

/** One text for all spellings of a message's id. */
export function idOf(message: JsonNode): string {
  const id = child(message, 'id')
  if (id?.kind === 'string') return JSON.stringify(id.text)
  if (id?.kind !== 'number') return NO_ID
  return Number.isSafeInteger(Number(id.text)) ? String(Number(id.text)) : id.text
}

/** The same text for an id in its spelling. */
export function idText(id: string): string {
  return idOf(readTree(Buffer.from(`{"id":${id}}`)))
}

/** The kind of a value, in words. */
export function kindOf({ kind }: JsonNode): string {
  return kind === 'null' ? 'null' : `${/^[aeiou]/.test(kind) ? 'an' : 'a'} ${kind}`
}

/** A sent or expected frame in words. */
export function describe(tree: JsonNode | undefined): string {
  if (tree?.kind === 'array') return `a batch of ${tree.items.length}`
  const { kind, key } = addressOf(tree)
  if (kind === 'answer') return key === NO_ID ? 'an answer without an id' : `the answer to id ${key}`
  if (kind === 'message')
    return `${child(tree, 'id') === undefined ? 'the notification' : 'the request'} ${key}`
  return kind === 'value' ? 'a JSON value that is no message' : 'bytes that are no JSON'
}
