// A proxy that is wrong in one place, and what must be found of it.

import type { Check } from '../checks.js'
import type { RunKind } from '../draw-kind.js'

/** One text of the compiled proxy, and what stands in its place. */
export interface Replacement {
  /** Below `src`, without its ending. */
  readonly file: string
  readonly find: string
  readonly put: string
}

export interface Mutation {
  /** What the proxy does wrong, in words. */
  readonly what: string
  readonly finds: readonly Check[]
  readonly replacements: readonly Replacement[]
  /** The runs that find it, where not every kind does. */
  readonly kind?: RunKind
}

export function mutation(
  what: string,
  finds: Check | readonly Check[],
  ...replacements: readonly (readonly [file: string, find: string, put: string])[]
): Mutation {
  return {
    what,
    finds: typeof finds === 'string' ? [finds] : finds,
    replacements: replacements.map(([file, find, put]) => ({ file, find, put })),
  }
}
