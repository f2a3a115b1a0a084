// The exact bytes that the bench's client and server exchange.
//
// Both ends know every shape beforehand, so neither parses JSON while a clock
// runs: an id stands at a fixed offset and has a fixed width, and the length of
// an answer follows from its tool. A subject that forwards bytes keeps all that.

/** Ids have nine digits: small calls count up from here. */
export const SMALL_IDS_FROM = 100_000_000
/** The second lane of a mixed run, so that an id tells which kind of answer it heads. */
export const LARGE_IDS_FROM = 500_000_000
export const ID_DIGITS = 9

export const LINE_HEAD = '{"jsonrpc":"2.0","id":'
export const CALL_AFTER_ID = ',"method":"tools/call","params":{"name":"'
export const ECHO_ARGUMENTS = '","arguments":{"text":"'
export const CALL_END = '"}}}\n'
export const RESULT_AFTER_ID = ',"result":{"content":[{"type":"text","text":"'
export const RESULT_END = '"}]}}\n'

/** Bytes from the start of an answer up to and with its id. */
export const ANSWER_HEAD_BYTES: number = LINE_HEAD.length + ID_DIGITS

/** What a small call carries; 48 bytes, the size of a path or a short query. */
export const SMALL_TEXT = 'packages/core/src/transport/connection-state.tsx'

/** `plain` is one ASCII letter throughout, the easiest thing to scan; `text` looks like a source file in JSON. */
export type Payload = 'text' | 'plain'

const LINES = [
  String.raw`export function readHead(bytes: Uint8Array, from: number): Head {\n`,
  String.raw`  if (bytes.length - from < HEAD_BYTES) return { kind: \"partial\", at: from }\n`,
  String.raw`  // the rest of a line whose head was read belongs to the same frame\n`,
  String.raw`  const matched = [...PATTERN].every((want, i) => bytes[from + i] === want)\n`,
  String.raw`\t\tlog.info(\"head at %d, file C:\\Users\\dev\\head.ts\", from)\n`,
  String.raw`  return matched ? { kind: \"head\", at: from } : { kind: \"foreign\" }\n}\n\n`,
  String.raw`// größer als nötig, ohne Not: 中文 und ein Gedankenstrich – so steht es da\n`,
]

/** The inside of a JSON string literal, exactly `size` bytes of UTF-8. */
export function stringBody(size: number, payload: Payload): Buffer {
  if (payload === 'plain') return Buffer.alloc(size, 'x')
  const paragraph = Buffer.from(LINES.join(''))
  const body = Buffer.alloc(size, 'x')
  const whole = Math.floor(size / paragraph.length)
  for (let n = 0; n < whole; n += 1) paragraph.copy(body, n * paragraph.length)
  return body
}

/** What every tool of the bench answers: one text block. */
export function resultBytes(textBytes: number): number {
  return ANSWER_HEAD_BYTES + RESULT_AFTER_ID.length + textBytes + RESULT_END.length
}

/** The whole answer to a call, for the comparison byte for byte before a run. */
export function resultLine(id: number, text: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from(`${LINE_HEAD}${id}${RESULT_AFTER_ID}`), text, Buffer.from(RESULT_END)])
}

/** Everything of an echo-shaped call that follows its id. */
export function textCallTail(tool: string, text: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from(`${CALL_AFTER_ID}${tool}${ECHO_ARGUMENTS}`), text, Buffer.from(CALL_END)])
}

/** Everything of a `blob` call that follows its id. */
export function blobCallTail(tool: string, size: number): Buffer {
  return Buffer.from(`${CALL_AFTER_ID}${tool}","arguments":{"size":${size}}}}\n`)
}

/** Writes `id` as nine digits at `at`. */
export function writeId(into: Uint8Array, at: number, id: number): void {
  let rest = id
  for (let digit = ID_DIGITS - 1; digit >= 0; digit -= 1) {
    into[at + digit] = 48 + (rest % 10)
    rest = Math.floor(rest / 10)
  }
}

/** Reads nine digits at `at`; NaN when one of them is not a digit. */
export function readId(from: Uint8Array, at: number): number {
  let id = 0
  for (let digit = 0; digit < ID_DIGITS; digit += 1) {
    const value = (from[at + digit] ?? 0) - 48
    if (value < 0 || value > 9) return Number.NaN
    id = id * 10 + value
  }
  return id
}
