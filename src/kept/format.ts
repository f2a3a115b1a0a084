// The file format of kept facts.
//
// The first line says the format, a checksum of all that follows, and how long every
// part is; behind it stand the parts, as the server wrote them. What is not exactly as
// it was written counts as nothing: a file may be torn, damaged, or somebody else's.

import { FrameError } from '../jsonrpc/errors.js'
import { defaultFrameLimits } from '../jsonrpc/frame.js'
import { listKinds } from '../mcp/lists.js'
import type { ListKind } from '../mcp/methods/method-row.js'
import type { KeptFacts, SelfDescription } from '../upstream/contracts/kept.js'
import { scanText } from '../jsonrpc/scan.js'

/** The kept facts of one server, by sets of capabilities; the newest set is the last. */
export type KeptSets = ReadonlyMap<string, KeptFacts>

/** A checksum, one word of ASCII, that no other file has. */
export type Seal = (content: Uint8Array) => string

const FORMAT = 'mcps-proxy-kept 1'

/** Where a set begins, and whether its server has answered the last time. */
const SET = 'set'
const ANSWERED = 'answered'
const SILENT = 'silent'
const HANDSHAKE = 'handshake'
/** Stands behind the handshake of a server that is not asked what it speaks. */
const SHY = 'shy'

/** Undefined when it has more bytes than that. */
export function encodeKept(sets: KeptSets, seal: Seal, bytesMax: number): Buffer | undefined {
  const words: string[] = []
  const parts: Uint8Array[] = []
  const lengthOf = (part: Uint8Array): string => {
    parts.push(part)
    return String(part.length)
  }
  for (const [set, { answered, description }] of sets) {
    words.push(SET, lengthOf(Buffer.from(set)), answered ? ANSWERED : SILENT)
    if (description === undefined) continue
    words.push(HANDSHAKE, lengthOf(description.handshake))
    if (description.isShy) words.push(SHY)
    for (const kind of listKinds) {
      const items = description.lists.get(kind)
      if (items !== undefined) words.push(kind, String(items.length), ...items.map(lengthOf))
    }
  }
  if (parts.reduce((sum, { length }) => sum + length, 0) > bytesMax) return undefined
  const content = Buffer.concat([Buffer.from(`${words.join(' ')}\n`), ...parts])
  const whole = Buffer.concat([Buffer.from(`${FORMAT} ${seal(content)} `), content])
  return whole.length > bytesMax ? undefined : whole
}

/** Undefined for everything that `encodeKept` has not made. The facts are views of the bytes. */
export function decodeKept(bytes: Buffer, seal: Seal): Map<string, KeptFacts> | undefined {
  const content = contentOf(bytes, seal)
  if (content === undefined) return undefined
  try {
    return readSets(new KeptReader(content))
  } catch (error) {
    if (error instanceof FrameError) return undefined
    throw error
  }
}

function contentOf(bytes: Buffer, seal: Seal): Buffer | undefined {
  const start = FORMAT.length + 1
  const end = bytes.indexOf(' ', start)
  if (end < 0 || bytes.toString('latin1', 0, start) !== `${FORMAT} `) return undefined
  const content = bytes.subarray(end + 1)
  return bytes.toString('latin1', start, end) === seal(content) ? content : undefined
}

function readSets(reader: KeptReader): Map<string, KeptFacts> {
  const sets = new Map<string, KeptFacts>()
  while (!reader.atEnd) {
    reader.oneOf(SET)
    const set = reader.part().toString('utf8')
    const answered = reader.oneOf(ANSWERED, SILENT) === ANSWERED
    sets.set(set, { answered, description: reader.follows(HANDSHAKE) ? readDescription(reader) : undefined })
  }
  reader.finish()
  return sets
}

function readDescription(reader: KeptReader): SelfDescription {
  const handshake = json(reader.part())
  const isShy = reader.follows(SHY)
  const lists = new Map<ListKind, readonly Uint8Array[]>()
  for (const kind of listKinds) {
    if (!reader.follows(kind)) continue
    const items: Uint8Array[] = []
    for (let left = reader.number(); left > 0; left--) items.push(json(reader.part()))
    lists.set(kind, items)
  }
  return { handshake, lists, isShy }
}

/** It stands in messages to clients: nothing but one JSON text may. @throws FrameError */
function json(part: Buffer): Buffer {
  scanText(part, defaultFrameLimits.depthMax)
  return part
}

const LF = 0x0a

/** Reads the words of the first line, and the parts behind it; whatever is odd throws a FrameError. */
class KeptReader {
  readonly #bytes: Buffer
  readonly #words: readonly string[]
  /** Where the next word and the next part are. */
  #word = 0
  #part: number

  constructor(bytes: Buffer) {
    const lineEnd = bytes.indexOf(LF)
    if (lineEnd < 0) this.#fail('expected a line feed')
    this.#bytes = bytes
    this.#words = lineEnd === 0 ? [] : bytes.toString('latin1', 0, lineEnd).split(' ')
    this.#part = lineEnd + 1
  }

  /** Whether there is no word any more. */
  get atEnd(): boolean {
    return this.#word === this.#words.length
  }

  /** Takes the next word where it is this one. */
  follows(word: string): boolean {
    const isThere = this.#words[this.#word] === word
    if (isThere) this.#word++
    return isThere
  }

  oneOf(...words: readonly string[]): string {
    return words.find((word) => this.follows(word)) ?? this.#fail(`expected ${words.join(' or ')}`)
  }

  number(): number {
    const word = this.#words[this.#word++] ?? ''
    return /^(?:0|[1-9]\d*)$/.test(word) ? Number(word) : this.#fail('expected a number')
  }

  /** The next part, whose length is the next word. */
  part(): Buffer {
    const start = this.#part
    this.#part += this.number()
    if (this.#part > this.#bytes.length) this.#fail('a part is longer than the file')
    return this.#bytes.subarray(start, this.#part)
  }

  /** Asserts that the parts are all there is. */
  finish(): void {
    if (this.#part !== this.#bytes.length) this.#fail('the lengths are not those of the file')
  }

  #fail(what: string): never {
    throw new FrameError('FRAME_SYNTAX', what, 0)
  }
}
