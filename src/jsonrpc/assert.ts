// Assertions for programmer errors.
//
// `node:assert` would add three milliseconds to every start.

/** @throws Error when it does not hold, which is our own fault */
export function assert(holds: boolean, what: string): asserts holds {
  if (!holds) throw new Error(`does not hold: ${what}`)
}
