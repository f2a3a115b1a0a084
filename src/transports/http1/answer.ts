// A response whose head has come; its body goes to one reader.

import type { Buffer } from 'node:buffer'
import type { HeaderFields } from './grammar.js'
import type { ResponseHead } from './response-reader.js'

/** The reader of a body. `end` or `cut` is called once, unless the answer is dropped before. */
export interface BodyConsumer {
  data(chunk: Buffer): void
  /** The body was whole. */
  end(): void
  /** The connection ended before the body did, or the body cannot be read on, which `error` is about. */
  cut(error?: Error): void
}

/** The connection that an answer comes on. */
export interface AnswerSource {
  read(on: boolean): void
  /** The reader of the body has taken so many pieces, such as lines of an event stream. */
  worked(pieces: number): void
  /** No more of the body is needed. */
  spare(): void
  /** Closes the connection. */
  drop(): void
}

/** A response; its body goes to its reader, or is dropped. */
export class HttpAnswer {
  readonly status: number
  readonly #fields: HeaderFields
  /** Undefined when the connection may be another's. */
  #source: AnswerSource | undefined
  #reader: BodyConsumer | undefined
  #closed: (() => void) | undefined
  #bytes = 0

  constructor(head: ResponseHead, source: AnswerSource) {
    this.#fields = head.fields
    this.status = head.status
    this.#source = source
  }

  /** Of the body, so far. */
  get bytes(): number {
    return this.#bytes
  }

  /** The first field of this name, which is in lower case. */
  get(name: string): string | undefined {
    return this.#fields.get(name)
  }

  /** Every field of this name. */
  all(name: string): readonly string[] {
    return this.#fields.all(name)
  }

  /** Sets the reader of the body; a reader that is set together with the head gets all of it. */
  readBy(reader: BodyConsumer): void {
    this.#reader = reader
  }

  /** Stops or goes on reading; what has come meanwhile waits. */
  read(on: boolean): void {
    this.#source?.read(on)
  }

  /** Counts pieces of the body, such as lines of an event stream, as work of this turn. */
  worked(pieces: number): void {
    this.#source?.worked(pieces)
  }

  /** No more of the body is needed: it keeps neither its connection for long nor the process. */
  spare(): void {
    this.#source?.spare()
  }

  /** Closes the connection of the response; its reader is not called any more. */
  drop(): void {
    this.#reader = undefined
    this.#source?.drop()
  }

  /** Calls `closed` when the response has ended, whole or not. */
  whenClosed(closed: () => void): void {
    if (this.#source === undefined) closed()
    else this.#closed = closed
  }

  // For the connection to call.

  data(chunk: Buffer): void {
    this.#bytes += chunk.length
    this.#reader?.data(chunk)
  }

  ended(how: 'whole' | 'cut' | 'dropped', error?: Error): void {
    if (how === 'whole') this.#reader?.end()
    else if (how === 'cut') this.#reader?.cut(error)
    this.#source = undefined
    const closed = this.#closed
    this.#closed = undefined
    closed?.()
  }
}
