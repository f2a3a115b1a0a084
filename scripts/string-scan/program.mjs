// Where the long strings of a JSON text stand, 64 bytes at a time.
//
// The bytes between two addresses, whole blocks of 64, are taken as the next of
// the text. A bit set of each block says which of its bytes are quotes and
// backslashes; arithmetic on these finds out which characters are escaped and
// which stand inside strings, without a branch for each (Langdale and Lemire,
// "Parsing Gigabytes of JSON per Second", 2019, section 3.1.1). What has to hold
// of a string's bytes is collected in `bad`: a control character or a wrong
// escape inside one, a backslash outside. Whether a text is UTF-8, and what
// stands between its strings, others find out.
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
const HIGH = 44 // not zero when a byte of this call was above 0x7f
const BYTES_MIN = 48 // how long a string has to be, with its quotes, to be told of
const STRINGS = 64 // where they begin and end

const locals = new Locals()
const address = locals.add(I32)
const end = locals.add(I32)
const [inside, escaped, hexDue, bad] = [I64, I64, I64, I64].map((type) => locals.add(type))
const [opened, base, found, bytesMin, closed] = [I32, I32, I32, I32, I32].map((type) => locals.add(type))
const [quotes, backslashes, escapees, odd, unicode, within] = Array.from({ length: 6 }, () => locals.add(I64))
const four = () => Array.from({ length: 4 }, () => locals.add(V128))
const [bytes, controls] = [four(), four()]
const [high, quote, backslash, lastControl, nibble, escapesLow, escapesHigh] = Array.from({ length: 7 }, () =>
  locals.add(V128),
)

const ZERO_ADDRESS = i32.const(0)
const of16 = (byteAt) => v128.const(Array.from({ length: 16 }, (_, i) => byteAt(i)))
const all = (byte) => of16(() => byte)
const get = (local) => local.get
const or4 = ([a, b, c, d]) => v128.or(v128.or(a, b), v128.or(c, d))
const isNotZero = (value) => i64.eqz(i64.extend(i64.eqz(value)))
const not = (value) => i64.xor(value, i64.const(-1))
const add = (target, value) => target.set(i64.or(target.get, value))

/** One bit of each byte of four vectors, the first byte's lowest. */
function bits(vectors) {
  const [a, b, c, d] = vectors.map((vector) => i64.extend(v128.bitmask(vector)))
  const low = i64.or(a, i64.shl(b, i64.const(16)))
  return i64.or(low, i64.or(i64.shl(c, i64.const(32)), i64.shl(d, i64.const(48))))
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
function others(low, high) {
  const hit = ({ get: byte }) =>
    v128.and(v128.swizzle(low, v128.and(byte, nibble.get)), v128.swizzle(high, v128.shrU(byte, i32.const(4))))
  return bits(bytes.map((byte) => v128.eq(hit(byte), all(0))))
}

const simpleEscapes = halves('"\\/bfnrt')
const hexDigits = halves('0123456789abcdefABCDEF')
const ODD_BITS = i64.const(BigInt.asIntN(64, 0xaaaa_aaaa_aaaa_aaaan))

const prologue = [
  inside.set(i64.load(ZERO_ADDRESS, INSIDE)),
  escaped.set(i64.load(ZERO_ADDRESS, ESCAPED)),
  hexDue.set(i64.load(ZERO_ADDRESS, HEX_DUE)),
  bad.set(i64.load(ZERO_ADDRESS, BAD)),
  opened.set(i32.load(ZERO_ADDRESS, OPENED)),
  base.set(i32.load(ZERO_ADDRESS, BASE)),
  bytesMin.set(i32.load(ZERO_ADDRESS, BYTES_MIN)),
  quote.set(all(0x22)),
  backslash.set(all(0x5c)),
  lastControl.set(all(0x1f)),
  nibble.set(all(0x0f)),
  escapesLow.set(simpleEscapes.low),
  escapesHigh.set(simpleEscapes.high),
]

const load = [
  ...bytes.map((vector, i) => vector.set(v128.load(address.get, 16 * i))),
  high.set(v128.or(high.get, or4(bytes.map(get)))),
  ...controls.map((vector, i) => vector.set(v128.eq(v128.minU(bytes[i].get, lastControl.get), bytes[i].get))),
  quotes.set(bits(bytes.map((byte) => v128.eq(byte.get, quote.get)))),
  backslashes.set(bits(bytes.map((byte) => v128.eq(byte.get, backslash.get)))),
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
    quotes.set(i64.and(quotes.get, not(escapees.get))),
    escapees.set(i64.and(escapees.get, others(escapesLow.get, escapesHigh.get))),
  ]),
]

const shifted = (shift, counts) =>
  counts.map((count) => shift(unicode.get, i64.const(count))).reduce((a, b) => i64.or(a, b))

/** What is left of the escaped characters has to be a `u`, and four hexadecimal digits have to follow it. */
const checkUnicode = [
  when(isNotZero(i64.or(escapees.get, hexDue.get)), [
    unicode.set(i64.and(escapees.get, bits(bytes.map((byte) => v128.eq(byte.get, all(0x75)))))),
    add(bad, i64.xor(escapees.get, unicode.get)),
    within.set(i64.or(hexDue.get, shifted(i64.shl, [1, 2, 3, 4]))),
    hexDue.set(shifted(i64.shrU, [63, 62, 61, 60])),
    add(bad, i64.and(within.get, others(hexDigits.low, hexDigits.high))),
  ]),
]

/** The whole block is inside a string, or the whole block is not. */
const noQuotes = [
  add(bad, i64.and(backslashes.get, not(inside.get))),
  when(v128.anyTrue(or4(controls.map(get))), [add(bad, inside.get)]),
]

/** A long string ends with the first quote of a block or not at all, and begins with the last. */
const someQuotes = [
  within.set(quotes.get),
  ...[1, 2, 4, 8, 16, 32].map((count) =>
    within.set(i64.xor(within.get, i64.shl(within.get, i64.const(count)))),
  ),
  within.set(i64.xor(within.get, inside.get)),
  add(bad, i64.and(bits(controls.map(get)), within.get)),
  add(bad, i64.and(backslashes.get, not(within.get))),
  closed.set(i32.add(i32.add(address.get, base.get), i32.add(i32.wrap(i64.ctz(quotes.get)), i32.const(1)))),
  when(isNotZero(inside.get), [
    when(i32.geU(i32.sub(closed.get, opened.get), bytesMin.get), [
      i32.store(i32.shl(found.get, i32.const(3)), opened.get, STRINGS),
      i32.store(i32.shl(found.get, i32.const(3)), closed.get, STRINGS + 4),
      found.set(i32.add(found.get, i32.const(1))),
    ]),
  ]),
  inside.set(i64.shrS(within.get, i64.const(63))),
  opened.set(i32.add(i32.add(address.get, base.get), i32.sub(i32.const(63), i32.wrap(i64.clz(quotes.get))))),
]

const block = [...load, ...findEscapees, ...checkUnicode, when(i64.eqz(quotes.get), noQuotes, someQuotes)]
const isLeft = i32.ltU(address.tee(i32.add(address.get, i32.const(64))), end.get)

const epilogue = [
  i64.store(ZERO_ADDRESS, inside.get, INSIDE),
  i64.store(ZERO_ADDRESS, escaped.get, ESCAPED),
  i64.store(ZERO_ADDRESS, hexDue.get, HEX_DUE),
  i64.store(ZERO_ADDRESS, bad.get, BAD),
  i32.store(ZERO_ADDRESS, opened.get, OPENED),
  i32.store(ZERO_ADDRESS, found.get, FOUND),
  i32.store(ZERO_ADDRESS, v128.bitmask(high.get), HIGH),
]

/** Takes from one address to another, at least one block. */
export const program = moduleOf({
  pages: 2,
  name: 'scan',
  parameters: 2,
  locals,
  body: [...prologue, loop(block, isLeft), ...epilogue],
})
