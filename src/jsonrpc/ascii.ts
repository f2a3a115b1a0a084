// Names for the bytes that have a meaning in JSON.

const TAB = 0x09
const NINE = 0x39
export const LF = 0x0a
export const CR = 0x0d
export const SPACE = 0x20
export const QUOTE = 0x22
export const COMMA = 0x2c
export const ZERO = 0x30
export const COLON = 0x3a
export const OPEN_ARRAY = 0x5b
export const BACKSLASH = 0x5c
export const OPEN_OBJECT = 0x7b

export function isSpace(c: number): boolean {
  return c <= SPACE && (c === SPACE || c === LF || c === CR || c === TAB)
}

export function isHex(c: number): boolean {
  return (c >= ZERO && c <= NINE) || ((c | 0x20) >= 0x61 && (c | 0x20) <= 0x66)
}
