// The kind of a frame: an answer with an id, a message with a method, or a batch.

import { type JsonNode, child, readTree, textOf } from './json-tree.js'

/** By what an expected frame and a received one find each other. */
export type Address =
  | { readonly kind: 'answer'; readonly id: string }
  | { readonly kind: 'message'; readonly method: string; readonly isRequest: boolean }
  | { readonly kind: 'batch'; readonly ids: readonly string[] }
  /** JSON, but no message of JSON-RPC. */
  | { readonly kind: 'value' }
  /** No JSON at all. */
  | { readonly kind: 'bytes' }

/** Stands for the id of an answer that has none, or `null`. */
const NO_ID = 'none'

export function addressOf(tree: JsonNode | undefined): Address {
  if (tree === undefined) return { kind: 'bytes' }
  if (tree.kind === 'array') return { kind: 'batch', ids: tree.items.map(idOf).sort() }
  if (tree.kind !== 'object') return { kind: 'value' }
  const method = textOf(child(tree, 'method'))
  if (method !== undefined) return { kind: 'message', method, isRequest: child(tree, 'id') !== undefined }
  const isAnswer = child(tree, 'result') !== undefined || child(tree, 'error') !== undefined
  return isAnswer ? { kind: 'answer', id: idOf(tree) } : { kind: 'value' }
}

/** One text for all spellings of a message's id. */
export function idOf(message: JsonNode): string {
  const id = child(message, 'id')
  if (id?.kind === 'string') return JSON.stringify(id.text)
  if (id?.kind !== 'number') return NO_ID
  return Number.isSafeInteger(Number(id.text)) ? String(Number(id.text)) : id.text
}

/** The same text for an id as it is written. */
export function idText(id: string): string {
  return idOf(readTree(Buffer.from(`{"id":${id}}`)))
}

/** Whether two frames can only mean each other. */
export function sameAddress(left: Address, right: Address): boolean {
  if (left.kind === 'answer') return right.kind === 'answer' && left.id === right.id
  if (left.kind === 'batch') return right.kind === 'batch' && left.ids.join() === right.ids.join()
  return left.kind === right.kind
}

/** A frame in words, as it is sent or expected. */
export function describe(tree: JsonNode | undefined): string {
  const address = addressOf(tree)
  switch (address.kind) {
    case 'answer':
      return address.id === NO_ID ? 'an answer without an id' : `the answer to id ${address.id}`
    case 'message':
      return `${address.isRequest ? 'the request' : 'the notification'} ${address.method}`
    case 'batch':
      return `a batch of ${address.ids.length}`
    case 'value':
      return 'a JSON value that is no message'
    case 'bytes':
      return 'bytes that are no JSON'
  }
}
