// What this code promises itself.
//
// The module of Node that does this takes three milliseconds to load, of every start.

/** @throws Error when it does not hold, which is our own fault */
export function assert(holds: boolean, what: string): asserts holds {
  if (!holds) throw new Error(`does not hold: ${what}`)
}
