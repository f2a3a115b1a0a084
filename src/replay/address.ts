// Finds the key that matches a received frame with an expected one, and describes a frame in words.

import type { JsonValue } from '../ask/json-value.js'

export interface Address {
  /** A `value` is JSON but no JSON-RPC message; `bytes` are no JSON. */
  readonly kind: 'answer' | 'message' | 'batch' | 'value' | 'bytes'
  /** The id, the method or the sorted ids; empty for a value or bytes. */
  readonly key: string
}

/** The key of an answer whose id is missing or `null`. */
const NO_ID = 'none'

export function addressOf(tree: JsonValue | undefined): Address {
  if (tree === undefined) return { kind: 'bytes', key: '' }
  if (tree.kind === 'array') return { kind: 'batch', key: tree.items.map(idOf).sort().join() }
  const method = tree.string('method')
  if (method !== undefined) return { kind: 'message', key: method }
  const isAnswer = tree.parts.some(({ name }) => name === 'result' || name === 'error')
  return isAnswer ? { kind: 'answer', key: idOf(tree) } : { kind: 'value', key: '' }
}

/** Returns one text for all spellings of the id of a message. */
export function idOf(message: JsonValue): string {
  const id = message.member('id')
  if (id?.kind === 'string') return JSON.stringify(id.text)
  if (id?.kind !== 'number') return NO_ID
  return Number.isSafeInteger(Number(id.text)) ? String(Number(id.text)) : id.text
}

export function describe(tree: JsonValue | undefined): string {
  const { kind, key } = addressOf(tree)
  const words = {
    answer: key === NO_ID ? 'an answer without an id' : `the answer to id ${key}`,
    message: `the ${tree?.member('id') === undefined ? 'notification' : 'request'} ${key}`,
    batch: `a batch of ${tree?.parts.length}`,
    value: 'a JSON value that is no message',
    bytes: 'bytes that are no JSON',
  }
  return words[kind]
}
