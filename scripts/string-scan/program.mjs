// Finds the long strings of a JSON text, 64 bytes at a time.
//
// A call reads the next bytes of the text between two addresses, in whole blocks of 64. Bit sets of each block
// mark its quotes and backslashes. Arithmetic on the bit sets finds the escaped characters and the insides of
// strings, without a branch for each character (Langdale and Lemire, "Parsing Gigabytes of JSON per Second",
// 2019, section 3.1.1). `bad` collects errors: a control character or a wrong escape inside a string, and a
// backslash outside. Callers check the UTF-8, and the text between strings.
//
// All state between two blocks is in memory, so a text may come in pieces. `string-finder.ts` has the same
// addresses.

import { I32, I64, Locals, V128, i32, i64, loop, moduleOf, v128, when } from './assemble.mjs'

/** Addresses of the state between two calls. */
const INSIDE = 0 // all ones if the text is inside a string, else zero
const ESCAPED = 8 // 1 if the next byte is escaped
const HEX_DUE = 16 // a bit for each of the next bytes that must be a hexadecimal digit
const BAD = 24 // not zero after an error
const OPENED = 32 // the offset in the text of the last opened string
const BASE = 36 // the difference between an offset in the text and an address
const FOUND = 40 // the number of long strings that ended in this call
const BYTES_MIN = 48 // the shortest reported string, with its quotes
const STRINGS = 64 // the start and the end of each found string, 8 bytes a string
const VECTORS = 6 * 1024 // the constants, after the room for all strings that one call can find

const locals = new Locals()
const address = locals.add(I32)
const end = locals.add(I32)
const [inside, escaped, bad] = [I64, I64, I64].map((type) => locals.add(type))
const [opened, closed, found] = Array.from({ length: 3 }, () => locals.add(I32))
const [quotes, backslashes, controls, escapees, odd, unicode, within] = Array.from({ length: 7 }, () =>
  locals.add(I64),
)
const bytes = Array.from({ length: 4 }, () => locals.add(V128))

const ZERO_ADDRESS = i32.const(0)
const of16 = (byteAt) => v128.const(Array.from({ length: 16 }, (_, i) => byteAt(i)))
const all = (byte) => of16(() => byte)
const or4 = ([a, b, c, d]) => v128.or(v128.or(a, b), v128.or(c, d))
const isNotZero = (value) => i64.ne(value, i64.const(0))
const not = (value) => i64.xor(value, i64.const(-1))
const add = (target, value) => target.set(i64.or(target.get, value))

/** Makes a bit set of the highest bits of the bytes of four vectors. The first byte has the lowest bit. */
function bits(vectors) {
  const [a, b, c, d] = vectors.map((vector) => v128.bitmask(vector))
  return i64.or(halfOf(a, b), i64.shl(halfOf(c, d), i64.const(32)))
}

function halfOf(low, high) {
  return i64.extend(i32.or(low, i32.shl(high, i32.const(16))))
}

// Rare cases read the block again: if they used the locals too, the engine would keep these in memory.
const readAgain = [0, 16, 32, 48].map((offset) => v128.load(address.get, offset))

/** Makes the bit set of the bytes that equal one of the characters. */
function bitsOf(...characters) {
  const is = (byte) => characters.map((character) => v128.eq(byte, all(character.charCodeAt(0))))
  return bits(readAgain.map((byte) => is(byte).reduce((a, b) => v128.or(a, b))))
}

/** Makes tables for the two halves of a byte. Their entries share a bit if the byte is one of `characters`. */
function halves(characters) {
  const codes = [...characters].map((character) => character.charCodeAt(0))
  const rows = [...new Set(codes.map((code) => code >> 4))]
  const bit = (row) => (rows.includes(row) ? 1 << rows.indexOf(row) : 0)
  const lows = (low) => codes.filter((code) => (code & 15) === low).reduce((m, code) => m | bit(code >> 4), 0)
  return { low: of16(lows), high: of16(bit) }
}

/** Makes the bit set of the bytes that are none of the characters of these tables. */
function others({ low, high }) {
  const hit = (byte) =>
    v128.and(v128.swizzle(low, v128.and(byte, all(0x0f))), v128.swizzle(high, v128.shrU(byte, i32.const(4))))
  return bits(readAgain.map((byte) => v128.eq(hit(byte), all(0))))
}

const hexDigits = halves('0123456789abcdefABCDEF')
const ODD_BITS = i64.const(BigInt.asIntN(64, 0xaaaa_aaaa_aaaa_aaaan))

/** Most escaped characters, apart from quotes and backslashes. All lie within 16 codes from the first one. */
const usualEscapes = ['f', 'n', 'r', 't'].map((character) => character.charCodeAt(0))
const [firstUsual] = usualEscapes
const repeated = (byte) => Array.from({ length: 16 }, () => byte)

// The vectors of every round lie in memory, because the engine would make constants anew in every round.
const vectors = [
  repeated(0x22),
  repeated(0x5c),
  repeated(0x20),
  repeated(firstUsual),
  Array.from({ length: 16 }, (_, at) => (usualEscapes.includes(firstUsual + at) ? 0xff : 0)),
]
const loaded = vectors.map(() => locals.add(V128))
const [quote, backslash, space, shift, usual] = loaded
const isUsual = ({ get: byte }) => v128.swizzle(usual.get, v128.sub(byte, shift.get))

const prologue = [
  inside.set(i64.load(ZERO_ADDRESS, INSIDE)),
  escaped.set(i64.load(ZERO_ADDRESS, ESCAPED)),
  bad.set(i64.load(ZERO_ADDRESS, BAD)),
  ...loaded.map((vector, i) => vector.set(v128.load(ZERO_ADDRESS, VECTORS + 16 * i))),
]

const load = [
  ...bytes.map((vector, i) => vector.set(v128.load(address.get, 16 * i))),
  quotes.set(bits(bytes.map((byte) => v128.eq(byte.get, quote.get)))),
  backslashes.set(bits(bytes.map((byte) => v128.eq(byte.get, backslash.get)))),
  controls.set(i64.const(0)),
  when(v128.anyTrue(or4(bytes.map((byte) => v128.subSatU(space.get, byte.get)))), [
    controls.set(bits(readAgain.map((byte) => v128.eq(v128.minU(byte, all(0x1f)), byte)))),
  ]),
]

/**
 * Finds the characters after an odd number of backslashes.
 *
 * A subtraction carries through each run of backslashes. The carry ends at an odd place after an odd run.
 */
const findEscapees = [
  escapees.set(i64.const(0)),
  when(isNotZero(i64.or(backslashes.get, escaped.get)), [
    escapees.set(i64.and(backslashes.get, not(escaped.get))),
    odd.set(i64.or(i64.shl(escapees.get, i64.const(1)), ODD_BITS)),
    odd.set(i64.xor(i64.sub(odd.get, escapees.get), ODD_BITS)),
    escapees.set(i64.xor(odd.get, i64.or(backslashes.get, escaped.get))),
    escaped.set(i64.shrU(i64.and(odd.get, backslashes.get), i64.const(63))),
    odd.set(not(i64.or(i64.or(quotes.get, backslashes.get), bits(bytes.map(isUsual))))),
    quotes.set(i64.and(quotes.get, not(escapees.get))),
    escapees.set(i64.and(escapees.get, odd.get)),
  ]),
]

const hexDue = i64.load(ZERO_ADDRESS, HEX_DUE)
const shifted = (shift, counts) =>
  counts.map((count) => shift(unicode.get, i64.const(count))).reduce((a, b) => i64.or(a, b))

/** Sets all bits from each opening quote to its closing quote. */
const findWithin = [
  within.set(quotes.get),
  ...[1, 2, 4, 8, 16, 32].map((count) =>
    within.set(i64.xor(within.get, i64.shl(within.get, i64.const(count)))),
  ),
  within.set(i64.xor(within.get, inside.get)),
]

/** Each remaining escaped character must be a `u` with four hexadecimal digits after it. */
const checkUnicode = [
  unicode.set(i64.and(escapees.get, bitsOf('u'))),
  add(bad, i64.xor(escapees.get, unicode.get)),
  within.set(i64.or(hexDue, shifted(i64.shl, [1, 2, 3, 4]))),
  i64.store(ZERO_ADDRESS, shifted(i64.shrU, [63, 62, 61, 60]), HEX_DUE),
  add(bad, i64.and(within.get, others(hexDigits))),
]

const checkRareBytes = [
  when(isNotZero(i64.or(i64.or(escapees.get, controls.get), hexDue)), [
    escapees.set(i64.and(escapees.get, not(bitsOf('b', '/')))),
    when(isNotZero(i64.or(escapees.get, hexDue)), checkUnicode),
    when(isNotZero(controls.get), [...findWithin, add(bad, i64.and(controls.get, within.get))]),
  ]),
]

/** Without quotes, the whole block is inside or outside a string. */
const noQuotes = [within.set(inside.get), add(bad, i64.and(backslashes.get, not(inside.get)))]

const place = i32.add(address.get, i32.load(ZERO_ADDRESS, BASE))
const ofString = i32.shl(found.get, i32.const(3))

/** A long string can end only at the first quote of a block, and begin only at the last. */
const someQuotes = [
  ...findWithin,
  add(bad, i64.and(backslashes.get, not(within.get))),
  when(isNotZero(inside.get), [
    closed.set(i32.add(place, i32.add(i32.wrap(i64.ctz(quotes.get)), i32.const(1)))),
    opened.set(i32.load(ZERO_ADDRESS, OPENED)),
    when(i32.geU(i32.sub(closed.get, opened.get), i32.load(ZERO_ADDRESS, BYTES_MIN)), [
      found.set(i32.load(ZERO_ADDRESS, FOUND)),
      i32.store(ofString, opened.get, STRINGS),
      i32.store(ofString, closed.get, STRINGS + 4),
      i32.store(ZERO_ADDRESS, i32.add(found.get, i32.const(1)), FOUND),
    ]),
  ]),
  i32.store(ZERO_ADDRESS, i32.add(place, i32.sub(i32.const(63), i32.wrap(i64.clz(quotes.get)))), OPENED),
]

const block = [
  ...load,
  ...findEscapees,
  ...checkRareBytes,
  when(i64.eqz(quotes.get), noQuotes, someQuotes),
  inside.set(i64.shrS(within.get, i64.const(63))),
]
const isLeft = i32.ltU(address.tee(i32.add(address.get, i32.const(64))), end.get)

const epilogue = [
  i64.store(ZERO_ADDRESS, inside.get, INSIDE),
  i64.store(ZERO_ADDRESS, escaped.get, ESCAPED),
  i64.store(ZERO_ADDRESS, bad.get, BAD),
]

/** The parameters are the first address and the end, with at least one block between them. */
export const program = moduleOf({
  pages: 2,
  data: { address: VECTORS, bytes: vectors.flat() },
  name: 'scan',
  parameters: 2,
  locals,
  body: [...prologue, loop(block, isLeft), ...epilogue],
})
