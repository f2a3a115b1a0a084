// From which number ids and progress tokens are minted, beside those that a peer chose itself.

/**
 * Where minting goes on beside those that clients chose.
 *
 * Clients that count do not come this far for long, and servers that keep numbers in 32 bits are at ease with it.
 */
export const MINTED_FROM = 1_000_000_000

/** Clients that count do not come this far; beyond it there would be nothing left to mint. */
const LENT_MAX = 2 ** 48

/** From where to mint once `own` was lent: what is minted must not be what is still said about that one. */
export function afterLending(own: number, last: number): number {
  return own > last && own < LENT_MAX ? own : last
}
