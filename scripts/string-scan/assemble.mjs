// The part of a WebAssembly assembler that one function needs.
//
// An expression is the list of its bytes, operands first. The numbers of opcodes are in the WebAssembly Core
// Specification, 2.0, section 5.4.

export const I32 = 0x7f
export const I64 = 0x7e
export const V128 = 0x7b

const FUNCTION = 0x60
const NO_RESULT = 0x40
const END = 0x0b

const op =
  (...code) =>
  (...operands) => [...operands.flat(), ...code]

const vector =
  (number) =>
  (...operands) => [...operands.flat(), 0xfd, ...unsigned(number)]

const loaded = (code, align) => (address, offset) => [...address, code, align, ...unsigned(offset)]
const stored = (code, align) => (address, value, offset) => [
  ...address,
  ...value,
  code,
  align,
  ...unsigned(offset),
]

export const i32 = {
  const: (value) => [0x41, ...signed(value)],
  add: op(0x6a),
  sub: op(0x6b),
  or: op(0x72),
  shl: op(0x74),
  ltU: op(0x49),
  geU: op(0x4f),
  wrap: op(0xa7),
  load: loaded(0x28, 2),
  store: stored(0x36, 2),
}

export const i64 = {
  const: (value) => [0x42, ...signed(value)],
  eqz: op(0x50),
  ne: op(0x52),
  clz: op(0x79),
  ctz: op(0x7a),
  sub: op(0x7d),
  and: op(0x83),
  or: op(0x84),
  xor: op(0x85),
  shl: op(0x86),
  shrS: op(0x87),
  shrU: op(0x88),
  extend: op(0xad),
  load: loaded(0x29, 3),
  store: stored(0x37, 3),
}

export const v128 = {
  const: (bytes) => [0xfd, 0x0c, ...bytes],
  load: (address, offset) => [...address, 0xfd, 0x00, 0, ...unsigned(offset)],
  swizzle: vector(14),
  eq: vector(35),
  and: vector(78),
  or: vector(80),
  anyTrue: vector(83),
  bitmask: vector(100),
  shrU: vector(109),
  sub: vector(113),
  subSatU: vector(115),
  minU: vector(119),
}

export const when = (condition, then, otherwise = []) => {
  const tail = otherwise.length === 0 ? [] : [0x05, ...otherwise.flat()]
  return [...condition, 0x04, NO_RESULT, ...then.flat(), ...tail, END]
}

/** Runs `body`, and repeats it while `again` is true after it. */
export const loop = (body, again) => [0x03, NO_RESULT, ...body.flat(), ...again, 0x0d, 0, END]

/** The locals of one function. Callers add the parameters first. */
export class Locals {
  types = []

  add(type) {
    const index = unsigned(this.types.push(type) - 1)
    return {
      get: [0x20, ...index],
      set: (value) => [...value, 0x21, ...index],
      tee: (value) => [...value, 0x22, ...index],
    }
  }
}

/** Makes a module that exports a memory of `pages` with `data`, and one function without a result. */
export function moduleOf({ pages, data, name, parameters, locals, body }) {
  const own = locals.types.slice(parameters).map((type) => [1, type])
  const code = [...list(own), ...body.flat(), END]
  const takes = locals.types.slice(0, parameters).map((type) => [type])
  const magic = [0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0]
  return Uint8Array.from([
    ...magic,
    ...section(1, list([[FUNCTION, ...list(takes), 0]])),
    ...section(3, list([[0]])),
    ...section(5, list([[1, ...unsigned(pages), ...unsigned(pages)]])),
    ...section(
      7,
      list([
        [...text('memory'), 2, 0],
        [...text(name), 0, 0],
      ]),
    ),
    ...section(10, list([[...unsigned(code.length), ...code]])),
    ...section(11, list([[0, ...i32.const(data.address), END, ...list(data.bytes.map((byte) => [byte]))]])),
  ])
}

function section(id, content) {
  return [id, ...unsigned(content.length), ...content]
}

function list(items) {
  return [...unsigned(items.length), ...items.flat()]
}

function text(value) {
  return list([...Buffer.from(value)].map((byte) => [byte]))
}

/** LEB128, section 5.2.2. */
function unsigned(value) {
  const rest = Math.floor(value / 128)
  return rest === 0 ? [value] : [(value % 128) | 0x80, ...unsigned(rest)]
}

function signed(value) {
  const bits = BigInt(value)
  const low = Number(bits & 0x7fn)
  const rest = bits >> 7n
  const isLast = (rest === 0n && low < 64) || (rest === -1n && low >= 64)
  return isLast ? [low] : [low | 0x80, ...signed(rest)]
}
