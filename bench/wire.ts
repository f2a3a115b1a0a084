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

/** The place of the id in a message: the first member, as most write it, or the last, as the official TypeScript SDK does. */
export type Envelope = 'id first' | 'id last'
export const ENVELOPES: readonly Envelope[] = ['id first', 'id last']

export const LINE_HEAD = '{"jsonrpc":"2.0","id":'
/** Before an id that stands last. */
export const LAST_HEAD = ',"jsonrpc":"2.0","id":'
export const LINE_END = '}\n'

/** Between an id that stands first and the name of a tool. */
export const CALL_AFTER_ID = ',"method":"tools/call","params":{"name":"'
/** Before the name of a tool where the id stands last. */
export const LAST_CALL: string = `{${CALL_AFTER_ID.slice(1)}`
export const ECHO_ARGUMENTS = '","arguments":{"text":"'
/** Closes a text and all that it stands in, but for the message. */
export const CALL_CLOSE = '"}}'
export const RESULT_AFTER_ID = ',"result":{"content":[{"type":"text","text":"'
export const LAST_RESULT: string = `{${RESULT_AFTER_ID.slice(1)}`
export const RESULT_CLOSE = '"}]}'

/** Enough of the start of an answer to see its id, or its kind where the id stands last; every answer is longer. */
export const ANSWER_HEAD_BYTES = 48
/** An id that stands last, and what follows it. */
export const ANSWER_TAIL_BYTES: number = ID_DIGITS + LINE_END.length
/** The third byte of a message whose id stands last: of `{"result"`. */
export const LAST_MARK = 114

/**
 * The texts of small calls, in turn; 48 bytes, the size of a path or a short query.
 *
 * They begin with a letter that no large text begins with.
 */
export const SMALL_TEXTS: readonly Buffer[] = [
  Buffer.from('packages/core/src/transport/connection-state.tsx'),
  Buffer.from('packages/ядро-2/соединение-态.tsx'),
]
const SMALL_MARK = 112

/** Whether the answer that begins so, with its id last, carries one of the small texts. */
export function isSmall(bytes: Uint8Array, at: number): boolean {
  return bytes[at + LAST_RESULT.length] === SMALL_MARK
}

/** A piece of the large texts: a source file in JSON, with a little that is not Latin-1. */
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
export function stringBody(size: number): Buffer {
  const paragraph = Buffer.from(LINES.join(''))
  const body = Buffer.alloc(size, 'x')
  const whole = Math.floor(size / paragraph.length)
  for (let n = 0; n < whole; n += 1) paragraph.copy(body, n * paragraph.length)
  return body
}

const blobs = new Map<number, Buffer>()

/** The same bytes, made once for each size. */
export function blob(size: number): Buffer {
  const made = blobs.get(size) ?? stringBody(size)
  blobs.set(size, made)
  return made
}

export function startsWith(bytes: Uint8Array, at: number, want: Uint8Array): boolean {
  for (let i = 0; i < want.length; i += 1) if (bytes[at + i] !== want[i]) return false
  return true
}

/** The answer of every tool of the bench: one text block. The order of the members changes no length. */
export function resultBytes(textBytes: number): number {
  return (
    LINE_HEAD.length + ID_DIGITS + RESULT_AFTER_ID.length + textBytes + RESULT_CLOSE.length + LINE_END.length
  )
}

/** A message but for its id. */
export interface AroundId {
  readonly before: Buffer
  readonly after: Buffer
}

/** `members` are all but `jsonrpc` and `id`. */
function around(envelope: Envelope, members: readonly (string | Uint8Array)[]): AroundId {
  const inside = Buffer.concat(members.map((part) => Buffer.from(part)))
  return envelope === 'id first'
    ? {
        before: Buffer.from(LINE_HEAD),
        after: Buffer.concat([Buffer.from(','), inside, Buffer.from(LINE_END)]),
      }
    : {
        before: Buffer.concat([Buffer.from('{'), inside, Buffer.from(LAST_HEAD)]),
        after: Buffer.from(LINE_END),
      }
}

/** The whole answer to a call, for the comparison byte for byte before a run. */
export function resultLine(envelope: Envelope, id: number, text: Uint8Array): Buffer {
  return withId(around(envelope, [RESULT_AFTER_ID.slice(1), text, RESULT_CLOSE]), id)
}

export function withId({ before, after }: AroundId, id: number): Buffer {
  return Buffer.concat([before, Buffer.from(String(id)), after])
}

/** An echo-shaped call. */
export function textCall(envelope: Envelope, tool: string, text: Uint8Array): AroundId {
  return around(envelope, [CALL_AFTER_ID.slice(1), tool, ECHO_ARGUMENTS, text, CALL_CLOSE])
}

export function blobCall(envelope: Envelope, tool: string, size: number): AroundId {
  return around(envelope, [CALL_AFTER_ID.slice(1), tool, `","arguments":{"size":${size}}}`])
}

/** Small calls that differ in their envelopes and in what they carry. */
export function smallCallsOf(envelopes: readonly Envelope[], tool: string): AroundId[] {
  return SMALL_TEXTS.flatMap((text) => envelopes.map((envelope) => textCall(envelope, tool, text)))
}

export const SMALL_ANSWER_BYTES: number = resultBytes(SMALL_TEXTS[0]?.length ?? 0)

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
