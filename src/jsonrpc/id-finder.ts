// Finds the id of a message that cannot be read, because it is too long or not acceptable.
//
// Writers put `id` among the first members or last. So the finder reads the beginning of the message, up to
// its limit, and the last member. It skips all other members. The id counts only if the beginning shows
// whether the message is a call or an answer, because the sender of a call chooses the id.

import { Buffer } from 'node:buffer'
import { COLON, COMMA, OPEN_OBJECT, QUOTE } from './ascii.js'
import { FrameError } from './jsonrpc-errors.js'
import { type RequestId, readId } from './request-id.js'
import { fold } from './routed-names.js'
import { DEPTH_MAX, Scanner, scanText } from './scan.js'
import { stringAt } from './text.js'

const HEAD_BYTES = 16 * 1024

/** More than the longest id needs. */
const TAIL_BYTES = 2 * 1024

/**
 * Matches a last member `id` and the brace that ends the message. Other text may follow the message. In JSON,
 * a quote after a comma or a brace opens a string, or it ends a string and no name can follow.
 */
const lastId =
  /[,{][ \t\r\n]*"id"[ \t\r\n]*:[ \t\r\n]*("(?:[^"\\]|\\.)*"|[^ \t\r\n"{}[\],:]+)[ \t\r\n]*\}[^{}"]*$/s

/** Finds the top-level `id` of an object that arrives in chunks, and keeps only a few kilobytes of it. */
export class IdFinder {
  #head: Buffer = Buffer.alloc(0)
  #tail: Buffer = Buffer.alloc(0)
  #isCall = false
  #isAnswer = false
  /** Every id that a reader might find, in any case of the key. */
  readonly #claims = new Set<RequestId>()
  /** The length of the message so far. */
  bytes = 0

  push(chunk: Uint8Array): void {
    this.bytes += chunk.length
    const room = HEAD_BYTES - this.#head.length
    if (room > 0) this.#head = Buffer.concat([this.#head, chunk.subarray(0, room)])
    const before = chunk.length < TAIL_BYTES ? [this.#tail] : []
    this.#tail = Buffer.concat([...before, chunk.subarray(-TAIL_BYTES)]).subarray(-TAIL_BYTES)
  }

  /** Returns the result. Called once, after the whole message. */
  found(): FoundId {
    this.#readHead()
    const [, value] = lastId.exec(this.#tail.toString('latin1')) ?? []
    if (value !== undefined) this.#claim(Buffer.from(value, 'latin1'))
    const claims = [...this.#claims]
    const [id] = claims.length === 1 && (this.#isCall || this.#isAnswer) ? claims : []
    return { id, claims, isCall: this.#isCall, isAnswer: this.#isAnswer }
  }

  #readHead(): void {
    try {
      this.#readMembers(this.#head, new Scanner(this.#head, DEPTH_MAX))
    } catch (error) {
      // Almost always the cause is that the beginning is cut.
      if (!(error instanceof FrameError)) throw error
    }
  }

  #readMembers(bytes: Buffer, scanner: Scanner): void {
    let at = scanner.skipSpace(0)
    if (bytes[at] !== OPEN_OBJECT) return
    do {
      const start = scanner.skipSpace(at + 1)
      if (bytes[start] !== QUOTE) return
      const end = scanner.value(start, 1)
      const colon = scanner.skipSpace(end)
      if (bytes[colon] !== COLON) return
      const key = stringAt(bytes, { start, end }) ?? ''
      if (key === 'method') this.#isCall = true
      if (key === 'result' || key === 'error') this.#isAnswer = true
      const value = scanner.skipSpace(colon + 1)
      at = scanner.value(value, 1)
      // A number that ends here may be the first digits of a longer number.
      if (fold(key) === 'id' && at < bytes.length) this.#claim(bytes.subarray(value, at))
      at = scanner.skipSpace(at)
    } while (bytes[at] === COMMA)
  }

  #claim(token: Buffer): void {
    try {
      scanText(token, 1)
      this.#claims.add(readId(token, 0, token.length))
    } catch (error) {
      if (!(error instanceof FrameError)) throw error
    }
  }
}

export interface FoundId {
  /** Undefined if the message has no id, several ids, or an unacceptable one. */
  readonly id: RequestId | undefined
  /** Every id that a reader might find. */
  readonly claims: readonly RequestId[]
  /** Whether the message has a `method`: it is a request or notification, and its sender chose the id. */
  readonly isCall: boolean
  /** Whether the message has a `result` or an `error`. */
  readonly isAnswer: boolean
}

/** Finds the id of a complete message. */
export function findId(message: Uint8Array): FoundId {
  const finder = new IdFinder()
  finder.push(message)
  return finder.found()
}

const NUL = 0

/**
 * The ids of the requests that an unacceptable line claims to answer.
 *
 * Other text may surround the message. UTF-16 becomes readable without its NUL bytes, since names and ids are ASCII.
 */
export function claimedIds(line: Uint8Array): readonly RequestId[] {
  const text = line.includes(NUL) ? line.filter((byte) => byte !== NUL) : line
  const start = text.indexOf(OPEN_OBJECT)
  if (start < 0) return []
  const { isCall, isAnswer, claims } = findId(text.subarray(start))
  return isAnswer && !isCall ? claims : []
}
