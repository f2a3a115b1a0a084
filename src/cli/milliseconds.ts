/** The longest delay of a timer. */
export const timeoutMsMax = 2_147_483_647

/** A number of milliseconds as a person types it; undefined for anything else. */
export function millisecondsOf(text: string): number | undefined {
  const ms = /^\d{1,10}$/.test(text) ? Number(text) : 0
  return ms >= 1 && ms <= timeoutMsMax ? ms : undefined
}
