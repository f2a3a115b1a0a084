// The offsets at which bytes stop to be UTF-8, and at which characters end.

import { isUtf8 } from 'node:buffer'

/** The length of the longest prefix of `bytes` that is UTF-8; only error messages ask. */
export function validPrefix(bytes: Buffer): number {
  let valid = 0
  let invalid = bytes.length
  while (invalid - valid > 1) {
    const middle = (valid + invalid) >> 1
    if (isUtf8(bytes.subarray(0, wholeCharacters(bytes, middle)))) valid = middle
    else invalid = middle
  }
  return wholeCharacters(bytes, valid)
}

/** `end`, moved back to before a character that it cuts. */
export function wholeCharacters(bytes: Buffer, end: number): number {
  for (let back = 1; back <= 3 && back <= end; back++) {
    const c = bytes[end - back] ?? 0
    if (c < 0x80) return end
    if (c >= 0xc0) return back < characterLength(c) ? end - back : end
  }
  return end
}

function characterLength(lead: number): number {
  if (lead >= 0xf0) return 4
  return lead >= 0xe0 ? 3 : 2
}
