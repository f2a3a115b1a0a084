// What all clients of a proxy share, where one of them must not take all of it.

/**
 * Whether somebody who has `own` of what is taken may have more: nobody has more than is left for others.
 *
 * One alone has half of it, and there is always something for who has nothing yet.
 */
export function isFairShare(own: number, taken: number, max: number, more = 1): boolean {
  return own + more <= max - taken
}
