// Whether two texts say the same in JSON.

import { isDeepStrictEqual } from 'node:util'
import { parse } from '../../jsonrpc/text.js'

/** Compares the values of two valid JSON texts; members may stand in any order, and nothing is said by spelling. */
export function isSameJson(one: string, other: string): boolean {
  return one === other || isDeepStrictEqual(parse(one), parse(other))
}
