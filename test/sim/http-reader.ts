// A reader of HTTP/1.1 and of server-sent events for the clients and servers of the simulator. It shares no code with
// the proxy.

import type { FlowSink } from './byte-flow.js'

export type HttpHead = { readonly first: string; readonly headers: ReadonlyMap<string, string> }

interface HttpSink {
  head(head: HttpHead): void
  /** A piece of the body. `upTo` is its end in the bytes of the connection. */
  body(bytes: Buffer, upTo: number): void
  whole(): void
  over(): void
}

export class HttpReader implements FlowSink {
  readonly #sink: HttpSink
  #bytes: Buffer = Buffer.alloc(0)
  #expected: 'head' | 'body' | 'chunk-size' | 'chunk' | 'chunk-end' | 'trailer' = 'head'
  #left = 0
  #at = 0

  constructor(sink: HttpSink) {
    this.#sink = sink
  }

  bytes(chunk: Buffer): void {
    this.#bytes = this.#bytes.length === 0 ? chunk : Buffer.concat([this.#bytes, chunk])
    while (this.#step());
  }

  end(): void {
    this.#sink.over()
  }

  /** False when more bytes are needed. */
  #step(): boolean {
    const expected = this.#expected
    if (expected === 'body' || expected === 'chunk') return this.#piece(expected)
    const mark = expected === 'head' ? '\r\n\r\n' : '\r\n'
    const end = this.#bytes.indexOf(mark)
    if (end < 0) return false
    const text = this.#take(end + mark.length).toString('latin1', 0, end)
    if (expected === 'head') this.#head(text)
    else if (expected === 'chunk-size') {
      this.#left = Number.parseInt(text, 16)
      this.#expected = this.#left === 0 ? 'trailer' : 'chunk'
    } else if (expected === 'chunk-end') this.#expected = 'chunk-size'
    else this.#whole()
    return true
  }

  #head(text: string): void {
    const [first = '', ...lines] = text.split('\r\n')
    const headers = new Map(
      lines.map((line) => {
        const colon = line.indexOf(':')
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
      }),
    )
    this.#expected = headers.get('transfer-encoding') === 'chunked' ? 'chunk-size' : 'body'
    this.#left = Number(headers.get('content-length') ?? 0)
    this.#sink.head({ first, headers })
  }

  #piece(expected: 'body' | 'chunk'): boolean {
    const piece = this.#take(Math.min(this.#left, this.#bytes.length))
    this.#left -= piece.length
    if (piece.length > 0) this.#sink.body(piece, this.#at)
    if (this.#left > 0) return false
    if (expected === 'body') this.#whole()
    else this.#expected = 'chunk-end'
    return true
  }

  #whole(): void {
    this.#expected = 'head'
    this.#sink.whole()
  }

  #take(count: number): Buffer {
    const taken = this.#bytes.subarray(0, count)
    this.#bytes = this.#bytes.subarray(count)
    this.#at += count
    return taken
  }
}

export function headOf(status: number, headers: readonly string[]): string {
  return `${[`HTTP/1.1 ${status} Simulated`, ...headers].join('\r\n')}\r\n\r\n`
}

export function chunked(text: string): string {
  return `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`
}

export interface ToldEvent {
  readonly name: string | undefined
  readonly id: string | undefined
  readonly data: string
  /** Its end in the bytes of the connection. */
  readonly upTo: number
}

const LF = 0x0a

/** Splits a stream into events. An event counts only once its blank line has arrived. */
export class EventReader {
  readonly #told: (event: ToldEvent) => void
  #rest: Buffer = Buffer.alloc(0)
  #lines: string[] = []

  constructor(told: (event: ToldEvent) => void) {
    this.#told = told
  }

  /** `upTo` is the end of this piece in the bytes of the connection. */
  piece(bytes: Buffer, upTo: number): void {
    let rest = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes])
    for (let end = rest.indexOf(LF); end >= 0; end = rest.indexOf(LF)) {
      const line = rest.toString('utf8', 0, end)
      rest = rest.subarray(end + 1)
      if (line === '') this.#event(upTo - rest.length)
      else this.#lines.push(line)
    }
    this.#rest = rest
  }

  #event(upTo: number): void {
    const lines = this.#lines.splice(0)
    const valuesOf = (field: string): string[] =>
      lines.filter((line) => line.startsWith(`${field}:`)).map((line) => line.replace(/^[^:]*: ?/, ''))
    const [id, name, data] = [valuesOf('id').at(-1), valuesOf('event').at(-1), valuesOf('data')]
    if (id !== undefined || data.length > 0) this.#told({ name, id, data: data.join('\n'), upTo })
  }
}
