// The kind of a frame: an answer with an id, a message with a method, or a batch.

import { type JsonNode, child, readTree, textOf } from './json-tree.js'

/** By what an expected frame and a received one find each other. */
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

/** A sent or expected frame in words. */
export function describe(tree: JsonNode | undefined): string {
  if (tree?.kind === 'array') return `a batch of ${tree.items.length}`
  const { kind, key } = addressOf(tree)
  if (kind === 'answer') return key === NO_ID ? 'an answer without an id' : `the answer to id ${key}`
  if (kind === 'message')
    return `${child(tree, 'id') === undefined ? 'the notification' : 'the request'} ${key}`
  return kind === 'value' ? 'a JSON value that is no message' : 'bytes that are no JSON'
}
