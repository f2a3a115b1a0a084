import { write } from '../jsonrpc/text.js'
import { isObject } from './json-object.js'

/** Returns one text for all spellings of a value: the order of members has no meaning. */
export function canonicalJson(value: unknown): string {
  return write(sorted(value)) ?? ''
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (!isObject(value)) return value
  const entries = Object.entries(value).map(([key, each]): [string, unknown] => [key, sorted(each)])
  return Object.fromEntries(entries.sort(([one], [other]) => (one < other ? -1 : 1)))
}
