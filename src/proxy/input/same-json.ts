// Whether two texts say the same in JSON.

import { parse } from '../../jsonrpc/text.js'

/** To compare the values of longer texts would take everybody else's time. */
const COMPARED_LENGTH_MAX = 1024 * 1024

/**
 * Compares the values of two valid JSON texts: the order of members and the spelling have no meaning.
 *
 * Longer ones are the same only as they are written.
 */
export function isSameJson(one: string, other: string): boolean {
  if (one === other) return true
  const isLong = one.length > COMPARED_LENGTH_MAX || other.length > COMPARED_LENGTH_MAX
  return !isLong && isSameValue(parse(one), parse(other))
}

/** Compares values that `JSON.parse` made; without recursion, since a text may be nested as deep as it is long. */
function isSameValue(one: unknown, other: unknown): boolean {
  const pairs: [unknown, unknown][] = [[one, other]]
  for (const [left, right] of pairs) {
    if (Object.is(left, right)) continue
    if (!isStructure(left) || !isStructure(right) || Array.isArray(left) !== Array.isArray(right))
      return false
    const keys = Object.keys(left)
    if (keys.length !== Object.keys(right).length) return false
    if (!keys.every((key) => Object.hasOwn(right, key))) return false
    for (const key of keys) pairs.push([Reflect.get(left, key), Reflect.get(right, key)])
  }
  return true
}

function isStructure(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
