// Responses out of the bytes of one connection, read by nobody's code but this.

import type { FlowSink } from './byte-flow.js'

/** What a response begins with. */
export interface AnswerHead {
  readonly status: number
  readonly headers: ReadonlyMap<string, string>
}

/** Hears of one response after the other. */
export interface AnswerSink {
  head(head: AnswerHead): void
  /** A piece of the body; `upTo` counts the bytes of the connection up to its end. */
  body(bytes: Buffer, upTo: number): void
  /** The response is whole. */
  whole(): void
  /** Nothing more will come. */
  over(): void
  /** What came is no HTTP. */
  bad(what: string): void
}

type Expected =
  | { readonly kind: 'head' | 'chunk-size' | 'chunk-end' | 'trailer' }
  | { readonly kind: 'body' | 'chunk'; left: number }

const head: Expected = { kind: 'head' }

/** Takes responses apart. */
export class AnswerReader implements FlowSink {
  readonly #sink: AnswerSink
  #bytes: Buffer = Buffer.alloc(0)
  #expected: Expected = head
  /** Bytes that were taken apart. */
  #at = 0

  constructor(sink: AnswerSink) {
    this.#sink = sink
  }

  bytes(chunk: Buffer): void {
    this.#bytes = this.#bytes.length === 0 ? chunk : Buffer.concat([this.#bytes, chunk])
    while (this.#step());
  }

  end(): void {
    this.#sink.over()
  }

  /** False when there are not bytes enough for one. */
  #step(): boolean {
    const expected = this.#expected
    if (expected.kind === 'body' || expected.kind === 'chunk') return this.#piece(expected)
    const text = this.#until(expected.kind === 'head' ? '\r\n\r\n' : '\r\n')
    if (text === undefined) return false
    if (expected.kind === 'head') this.#head(text)
    else if (expected.kind === 'chunk-size') this.#chunk(text)
    else if (expected.kind === 'chunk-end') this.#expected = { kind: 'chunk-size' }
    else this.#whole()
    return true
  }

  #head(text: string): void {
    const [first = '', ...lines] = text.split('\r\n')
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(first)?.[1])
    if (!(status >= 200)) return this.#sink.bad(first)
    const headers = new Map(
      lines.map((line) => {
        const colon = line.indexOf(':')
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
      }),
    )
    this.#expected =
      headers.get('transfer-encoding') === 'chunked'
        ? { kind: 'chunk-size' }
        : { kind: 'body', left: Number(headers.get('content-length') ?? 0) }
    this.#sink.head({ status, headers })
  }

  #chunk(text: string): void {
    const size = Number.parseInt(text, 16)
    if (Number.isNaN(size)) this.#sink.bad(text)
    else this.#expected = size === 0 ? { kind: 'trailer' } : { kind: 'chunk', left: size }
  }

  #piece(expected: { readonly kind: 'body' | 'chunk'; left: number }): boolean {
    const piece = this.#take(Math.min(expected.left, this.#bytes.length))
    expected.left -= piece.length
    if (piece.length > 0) this.#sink.body(piece, this.#at)
    if (expected.left > 0) return false
    if (expected.kind === 'body') this.#whole()
    else this.#expected = { kind: 'chunk-end' }
    return true
  }

  #whole(): void {
    this.#expected = head
    this.#sink.whole()
  }

  #until(mark: string): string | undefined {
    const end = this.#bytes.indexOf(mark)
    if (end < 0) return undefined
    return this.#take(end + mark.length).toString('latin1', 0, end)
  }

  #take(count: number): Buffer {
    const taken = this.#bytes.subarray(0, count)
    this.#bytes = this.#bytes.subarray(count)
    this.#at += count
    return taken
  }
}
