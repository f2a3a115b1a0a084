// A response whose head has come, and the readers of its body: a message, an event stream, or the beginning of anything else.

import { Buffer } from 'node:buffer'
import type { HeaderFields } from '../http1/grammar.js'
import { WholeBody } from '../http1/bytes.js'
import { type SseLimits, SseParser, type SseSink } from '../sse/parser.js'
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

/** `undefined` when the body was cut, which `error` may be about, or is longer than allowed. */
type Done = (body: WholeBody | undefined, why: 'cut' | 'too-large' | undefined, error?: Error) => void

/** Reads a whole body. */
export function readWhole(answer: HttpAnswer, bytesMax: number, done: Done): void {
  if (Number(answer.get('content-length') ?? 0) > bytesMax) {
    answer.drop()
    return done(undefined, 'too-large')
  }
  const body = new WholeBody()
  answer.readBy({
    data: (chunk) => {
      if (body.bytes + chunk.length <= bytesMax) return body.add(chunk)
      answer.drop()
      done(undefined, 'too-large')
    },
    end: () => done(body, undefined),
    cut: (error) => done(undefined, 'cut', error),
  })
}

/** Reads the beginning of a body, for an error message. */
export function readExcerpt(answer: HttpAnswer, bytesMax: number, done: (text: string) => void): void {
  const parts: Buffer[] = []
  let bytes = 0
  const shown = isCompressed(answer) ? 0 : bytesMax
  const finish = (): void => done(Buffer.concat(parts).subarray(0, shown).toString('utf8'))
  answer.readBy({
    data: (chunk) => {
      parts.push(chunk)
      bytes += chunk.length
      if (bytes < bytesMax) return
      answer.drop()
      finish()
    },
    end: finish,
    cut: finish,
  })
}

/** Reads an event stream until its end, in order or not. */
export function readEvents(
  answer: HttpAnswer,
  limits: SseLimits,
  sink: SseSink,
  ended: (error?: Error) => void,
): SseParser {
  const parser = new SseParser(sink, limits)
  answer.readBy({ data: (chunk) => answer.worked(parser.push(chunk)), end: () => ended(), cut: ended })
  return parser
}

/** Reads and forgets a body of which nothing is wanted, so that its connection can be used again. */
export function discard(answer: HttpAnswer, bytesMax: number): void {
  answer.spare()
  readExcerpt(answer, bytesMax, () => {})
}

/** Whether it is a stream of events that can be read. */
export function isEventStream(answer: HttpAnswer): boolean {
  return answer.status === 200 && mediaType(answer) === 'text/event-stream' && !isCompressed(answer)
}

/** The media type of a body, without its parameters. */
export function mediaType(answer: HttpAnswer): string {
  const [type = ''] = (answer.get('content-type') ?? '').split(';', 1)
  return type.trim().toLowerCase()
}

/** Whether the body is compressed, although every request asks for none (`Accept-Encoding: identity`). */
export function isCompressed(answer: HttpAnswer): boolean {
  return contentCodings(answer).length > 0
}

/** The codings of a body (RFC 9110, section 8.4). A response may have several fields, and a field several codings. */
export function contentCodings(answer: HttpAnswer): string[] {
  const said = answer.all('content-encoding').flatMap((field) => field.split(','))
  return said.map((coding) => coding.trim()).filter((coding) => !/^(?:identity)?$/i.test(coding))
}
