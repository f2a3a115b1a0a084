// Finds the long strings of a JSON text, 64 bytes at a time.
//
// The bytes between two addresses, whole blocks of 64, are taken as the next of
// the text. A bit set of each block says which of its bytes are quotes and
// backslashes; arithmetic on these finds out which characters are escaped and
// which stand inside strings, without a branch for each (Langdale and Lemire,
// "Parsing Gigabytes of JSON per Second", 2019, section 3.1.1). What has to hold
// of a string's bytes is collected in `bad`: a control character or a wrong
// escape inside one, a backslash outside. Whether a text is UTF-8, and what stands
// between its strings, others find out.
//
// Everything that goes from one block to the next lies in memory, so that a text
// may come in pieces. `string-finder.ts` knows these places by their numbers.

import { I32, I64, Locals, V128, i32, i64, loop, moduleOf, v128, when } from './assemble.mjs'

/** Addresses of what is kept between two calls. */
const INSIDE = 0 // all ones inside a string, else zero
const ESCAPED = 8 // 1 when the next byte is escaped
const HEX_DUE = 16 // a bit for each of the next bytes that has to be a hexadecimal digit
const BAD = 24 // not zero once anything was wrong
const OPENED = 32 // where the last string begins, counted in the text
const BASE = 36 // what to add to an address to count in the text
const FOUND = 40 // how many long strings ended in this call
const BYTES_MIN = 48 // how long a string has to be, with its quotes, to be reported
const STRINGS = 64 // where they begin and end, 8 bytes a string
const VECTORS = 6 * 1024 // behind as many strings as one call can find

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

/** One bit of each byte of four vectors, the first byte's lowest. */
function bits(vectors) {
  const [a, b, c, d] = vectors.map((vector) => v128.bitmask(vector))
  return i64.or(halfOf(a, b), i64.shl(halfOf(c, d), i64.const(32)))
}

function halfOf(low, high) {
  return i64.extend(i32.or(low, i32.shl(high, i32.const(16))))
}

// Rare cases read the block once more: a local that is used there too would lie in memory in every round.
const readAgain = [0, 16, 32, 48].map((offset) => v128.load(address.get, offset))

/** The bit set of the bytes that are one of these. */
function bitsOf(...characters) {
  const is = (byte) => characters.map((character) => v128.eq(byte, all(character.charCodeAt(0))))
  return bits(readAgain.map((byte) => is(byte).reduce((a, b) => v128.or(a, b))))
}

/** Two tables by the halves of a byte, which have a bit in common where the byte is one of `characters`. */
function halves(characters) {
  const codes = [...characters].map((character) => character.charCodeAt(0))
  const rows = [...new Set(codes.map((code) => code >> 4))]
  const bit = (row) => (rows.includes(row) ? 1 << rows.indexOf(row) : 0)
  const lows = (low) => codes.filter((code) => (code & 15) === low).reduce((m, code) => m | bit(code >> 4), 0)
  return { low: of16(lows), high: of16(bit) }
}

/** The bit set of the bytes that are none of the characters of these tables. */
function others({ low, high }) {
  const hit = (byte) =>
    v128.and(v128.swizzle(low, v128.and(byte, all(0x0f))), v128.swizzle(high, v128.shrU(byte, i32.const(4))))
  return bits(readAgain.map((byte) => v128.eq(hit(byte), all(0))))
}

const hexDigits = halves('0123456789abcdefABCDEF')
const ODD_BITS = i64.const(BigInt.asIntN(64, 0xaaaa_aaaa_aaaa_aaaan))

/** Most of the characters that are escaped, without quotes and backslashes, lie within 16 from the first of these. */
const usualEscapes = ['f', 'n', 'r', 't'].map((character) => character.charCodeAt(0))
const [firstUsual] = usualEscapes
const repeated = (byte) => Array.from({ length: 16 }, () => byte)

// Vectors that every round needs lie in memory: the engine would make constants anew in every round.
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
 * The characters behind an odd number of backslashes.
 *
 * A subtraction carries through each run of backslashes; whether the carry comes
 * out at an odd place says whether the run is odd.
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

/** All ones from each quote that opens a string to the one that closes it. */
const findWithin = [
  within.set(quotes.get),
  ...[1, 2, 4, 8, 16, 32].map((count) =>
    within.set(i64.xor(within.get, i64.shl(within.get, i64.const(count)))),
  ),
  within.set(i64.xor(within.get, inside.get)),
]

/** Each other escaped character must be a `u`, and four hexadecimal digits have to follow it. */
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

/** The whole block is inside a string, or the whole block is not. */
const noQuotes = [within.set(inside.get), add(bad, i64.and(backslashes.get, not(inside.get)))]

const place = i32.add(address.get, i32.load(ZERO_ADDRESS, BASE))
const ofString = i32.shl(found.get, i32.const(3))

/** A long string ends with the first quote of a block or not at all, and begins with the last. */
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

/** Takes from one address to another, at least one block. */
export const program = moduleOf({
  pages: 2,
  data: { address: VECTORS, bytes: vectors.flat() },
  name: 'scan',
  parameters: 2,
  locals,
  body: [...prologue, loop(block, isLeft), ...epilogue],
})
