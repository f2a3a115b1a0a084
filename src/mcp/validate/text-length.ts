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

function codePoints(text: string, spend: Spend): number {
  spend(text.length >> 4)
  let count = text.length
  for (let at = 0; at + 1 < text.length; at++) {
    if (isHigh(text.charCodeAt(at)) && isLow(text.charCodeAt(at + 1))) {
      count--
      at++
    }
  }
  return count
}

function isHigh(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff
}

function isLow(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff
}
