// Classifies the bytes of a text, four at a time.

import { isUtf8 } from 'node:buffer'

export const HAS_CONTROL = 1
export const HAS_HIGH = 2

/** Below this length a plain loop beats the set-up of four-byte loads. */
const WORDS_FROM_BYTES = 256

/** Whether any byte of a range is below 0x20, and whether any is above 0x7f, as a bit set. */
export function byteKinds(bytes: Buffer, from = 0, to: number = bytes.length): number {
  if (to - from < WORDS_FROM_BYTES) return kindsOf(bytes, from, to)
  const start = from + (-(bytes.byteOffset + from) & 3)
  const words = new Int32Array(bytes.buffer, bytes.byteOffset + start, (to - start) >> 2)
  return kindsOf(bytes, from, start) | kindsOfWords(words) | kindsOf(bytes, start + words.length * 4, to)
}

function kindsOf(bytes: Buffer, from: number, to: number): number {
  let below = 0
  let all = 0
  for (let i = from; i < to; i++) {
    const c = bytes[i] ?? 0
    below |= c - 0x20
    all |= c
  }
  return (below < 0 ? HAS_CONTROL : 0) | ((all & 0x80) !== 0 ? HAS_HIGH : 0)
}

/**
 * Subtracting 0x20 from each byte sets the top bit of those below 0x20; those
 * with the top bit set already are masked out. A borrow can only mark the
 * neighbour of a byte that is marked itself, so the bit set is exact.
 */
function kindsOfWords(words: Int32Array): number {
  let below = 0
  let all = 0
  for (let i = 0; i < words.length; i++) {
    const word = words[i] ?? 0
    below |= (word - 0x20202020) & ~word
    all |= word
  }
  return ((below & 0x80808080) !== 0 ? HAS_CONTROL : 0) | ((all & 0x80808080) !== 0 ? HAS_HIGH : 0)
}

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
