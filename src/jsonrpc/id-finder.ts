// The id of a message that is too long to keep.
//
// The message is dropped while it arrives, in chunks of any size. Servers write
// `id` first or last, so the whole of it is walked; nothing is validated, since
// nothing but the id survives.

import { Buffer } from 'node:buffer'
import { type RequestId, readId } from './request-id.js'

const QUOTE = 0x22
const BACKSLASH = 0x5c
const TOKEN_BYTES_MAX = 1024

/** Finds the value of the top-level `id` in an object that is fed chunk by chunk. */
export class IdFinder {
  #depth = 0
  #inString = false
  #escaped = false
  #expectsValue = false
  #isIdValue = false
  #token: number[] = []
  #found: RequestId | undefined

  get id(): RequestId | undefined {
    return this.#found
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
        if (this.#depth !== 1) return
        if (!this.#expectsValue) this.#token = []
        return this.#keep(c)
      case 0x7b:
      case 0x5b:
        this.#depth++
        return
      case 0x7d:
      case 0x5d:
        if (this.#depth === 1) this.#endValue()
        this.#depth--
        return
      case 0x3a:
        return this.#colon()
      case 0x2c:
        return this.#endValue()
      default:
        if (this.#depth === 1 && this.#expectsValue && c > 0x20) this.#keep(c)
    }
  }

  #colon(): void {
    if (this.#depth !== 1) return
    this.#isIdValue = Buffer.from(this.#token).toString('latin1') === '"id"'
    this.#expectsValue = true
    this.#token = []
  }

  #endValue(): void {
    if (this.#depth !== 1) return
    if (this.#isIdValue) this.#found = idOf(Buffer.from(this.#token))
    this.#isIdValue = false
    this.#expectsValue = false
    this.#token = []
  }

  #keep(c: number): void {
    if (this.#token.length <= TOKEN_BYTES_MAX) this.#token.push(c)
  }
}

function idOf(token: Buffer): RequestId | undefined {
  try {
    return token.length > TOKEN_BYTES_MAX ? undefined : readId(token, 0, token.length)
  } catch {
    return undefined
  }
}
