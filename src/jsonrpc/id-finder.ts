// The id of a message that is too long to keep.
//
// The message is dropped while it arrives, in chunks of any size. Servers write
// `id` first or last, so the whole of it is walked; nothing but the id is
// validated, since nothing else survives.

import { Buffer } from 'node:buffer'
import {
  BACKSLASH,
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
  SPACE,
} from './ascii.js'
import { type RequestId, readId } from './request-id.js'
import { Scanner } from './scan.js'

const TOKEN_BYTES_MAX = 1024

/** Finds the top-level `id` of an object that is fed chunk by chunk. */
export class IdFinder {
  #depth = 0
  #inString = false
  #escaped = false
  #expectsValue = false
  #key = ''
  #token: number[] = []
  #ids = 0
  #found: RequestId | undefined
  #isCall = false

  /** Undefined when there is none, when there are several, and when it is not acceptable. */
  get id(): RequestId | undefined {
    return this.#ids === 1 ? this.#found : undefined
  }

  /** Whether the message has a `method`: a request or notification, whose id is its sender's own. */
  get isCall(): boolean {
    return this.#isCall
  }

  push(chunk: Uint8Array): void {
    for (const c of chunk) {
      if (this.#inString) this.#inside(c)
      else this.#outside(c)
    }
  }

  #inside(c: number): void {
    if (this.#depth === 1) this.#keep(c)
    if (this.#escaped) this.#escaped = false
    else if (c === BACKSLASH) this.#escaped = true
    else if (c === QUOTE) this.#inString = false
  }

  #outside(c: number): void {
    switch (c) {
      case QUOTE:
        this.#inString = true
        if (this.#depth === 1) this.#keep(c)
        return
      case OPEN_OBJECT:
      case OPEN_ARRAY:
        this.#depth++
        return
      case CLOSE_OBJECT:
      case CLOSE_ARRAY:
        if (this.#depth === 1) this.#endValue()
        this.#depth--
        return
      case COLON:
        return this.#colon()
      case COMMA:
        return this.#endValue()
      default:
        if (this.#depth === 1 && this.#expectsValue && c > SPACE) this.#keep(c)
    }
  }

  #colon(): void {
    if (this.#depth !== 1) return
    this.#key = Buffer.from(this.#token).toString('latin1')
    if (this.#key === '"method"') this.#isCall = true
    this.#expectsValue = true
    this.#token = []
  }

  #endValue(): void {
    if (this.#depth !== 1) return
    if (this.#expectsValue && this.#key === '"id"') {
      this.#ids++
      this.#found = idOf(Buffer.from(this.#token))
    }
    this.#expectsValue = false
    this.#token = []
  }

  #keep(c: number): void {
    if (this.#token.length <= TOKEN_BYTES_MAX) this.#token.push(c)
  }
}

function idOf(token: Buffer): RequestId | undefined {
  try {
    const scanner = new Scanner(token, 1)
    scanner.finish(scanner.value(0, 0))
    return readId(token, 0, token.length)
  } catch {
    return undefined
  }
}
