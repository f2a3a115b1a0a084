// A response whose head has come, while its body comes.

import type { Buffer } from 'node:buffer'
import type { HeaderFields } from '../http1/grammar.js'
import type { ResponseHead } from './response-head.js'

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
  /** Nothing is wanted of the rest. */
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

  /** From now on the body is this reader's; told at once when the head is, it gets all of it. */
  readBy(reader: BodyConsumer): void {
    this.#reader = reader
  }

  /** Stops or goes on reading; what has come meanwhile waits. */
  read(on: boolean): void {
    this.#source?.read(on)
  }

  /** Nothing is wanted of the rest: it keeps neither its connection for long nor the process. */
  spare(): void {
    this.#source?.spare()
  }

  /** Closes the connection it comes on, or came on a moment ago; its reader is told nothing more. */
  drop(): void {
    this.#reader = undefined
    this.#source?.drop()
  }

  /** `closed` is told when nothing more comes, however it ended. */
  whenClosed(closed: () => void): void {
    if (this.#source === undefined) closed()
    else this.#closed = closed
  }

  // What the connection tells.

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
