// Whether two texts say the same in JSON.

import { isDeepStrictEqual } from 'node:util'
import { parse } from '../../jsonrpc/text.js'

/** To compare the values of longer texts would take everybody else's time. */
const COMPARED_LENGTH_MAX = 1024 * 1024

/**
 * Compares the values of two valid JSON texts: members may stand in any order, and nothing is said by spelling.
 *
 * Longer ones are the same only as they are written.
 */
export function isSameJson(one: string, other: string): boolean {
  if (one === other) return true
  const isLong = one.length > COMPARED_LENGTH_MAX || other.length > COMPARED_LENGTH_MAX
  return !isLong && isDeepStrictEqual(parse(one), parse(other))
}
