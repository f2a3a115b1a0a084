// The length of a string in code points, counted only when it has to be.

type Spend = (steps: number) => void

/** Whether `text` has at least `limit` code points; of two code units there may be one or two. */
export function hasAtLeast(text: string, limit: number, spend: Spend): boolean {
  if (text.length < limit) return false
  return text.length >= limit * 2 || codePoints(text, spend) >= limit
}

/** Whether `text` has at most `limit` code points. */
export function hasAtMost(text: string, limit: number, spend: Spend): boolean {
  if (text.length <= limit) return true
  return text.length <= limit * 2 && codePoints(text, spend) <= limit
}

/** No iterator: it would make a string of every code point. */
function codePoints(text: string, spend: Spend): number {
  spend(text.length >> 4)
  let count = 0
  for (let at = 0; at < text.length; at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1) count++
  return count
}
