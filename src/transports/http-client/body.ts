// The bodies of responses: messages, event streams, and the beginnings of what is neither.

import type { IncomingMessage } from 'node:http'
import { type Line, toLine } from '../../jsonrpc/line.js'
import { type SseLimits, SseParser, type SseSink } from '../sse-parser.js'
import { UnfinishedLine } from '../unfinished-line.js'

/** `undefined` when the body was cut or is longer than allowed. */
type Done<T> = (read: T | undefined, why: 'cut' | 'too-large' | undefined) => void

/** A body that came whole; it is asked once for what it holds. */
export class WholeBody {
  #first: Buffer | undefined
  /** Undefined while there is one piece. */
  #pieces: UnfinishedLine | undefined
  #bytes = 0

  get bytes(): number {
    return this.#bytes
  }

  get firstByte(): number | undefined {
    return this.#first?.[0]
  }

  add(chunk: Buffer): void {
    this.#bytes += chunk.length
    if (this.#first === undefined) {
      this.#first = chunk
      return
    }
    if (this.#pieces === undefined) {
      this.#pieces = new UnfinishedLine()
      this.#pieces.add(this.#first)
    }
    this.#pieces.add(chunk)
  }

  line(): Line {
    return this.#pieces?.take() ?? toLine(this.#first ?? '')
  }

  parts(): readonly Buffer[] {
    return this.#pieces?.give() ?? (this.#first === undefined ? [] : [this.#first])
  }
}

/** Reads a whole body. */
export function readWhole(response: IncomingMessage, bytesMax: number, done: Done<WholeBody>): void {
  if (Number(response.headers['content-length'] ?? 0) > bytesMax) {
    response.destroy()
    return done(undefined, 'too-large')
  }
  const body = new WholeBody()
  const finish = once(done)
  response.on('data', (chunk: Buffer) => {
    if (body.bytes + chunk.length <= bytesMax) return body.add(chunk)
    finish(undefined, 'too-large')
    response.destroy()
  })
  response.on('end', () => finish(response.complete ? body : undefined, 'cut'))
  whenCut(response, () => finish(undefined, 'cut'))
}

/** Reads a whole body as one line. */
export function readLine(response: IncomingMessage, bytesMax: number, done: Done<Line>): void {
  readWhole(response, bytesMax, (body, why) => done(body?.line(), why))
}

/** Reads the beginning of a body, for an error message. */
export function readExcerpt(response: IncomingMessage, bytesMax: number, done: (text: string) => void): void {
  const parts: Buffer[] = []
  let bytes = 0
  // What is compressed nobody can read.
  const shown = isCompressed(response) ? 0 : bytesMax
  const finish = once(() => done(Buffer.concat(parts).subarray(0, shown).toString('utf8')))
  response.on('data', (chunk: Buffer) => {
    parts.push(chunk)
    bytes += chunk.length
    if (bytes < bytesMax) return
    finish()
    response.destroy()
  })
  response.on('end', finish)
  whenCut(response, finish)
}

/** Reads an event stream until its end, in order or not. */
export function readEvents(
  response: IncomingMessage,
  limits: SseLimits,
  sink: SseSink,
  ended: () => void,
): SseParser {
  const parser = new SseParser(sink, limits)
  const finish = once(ended)
  response.on('data', (chunk: Buffer) => parser.push(chunk))
  response.on('end', finish)
  whenCut(response, finish)
  return parser
}

/** Reads and forgets a body of which nothing is wanted, so that its socket can be used again. */
export function discard(response: IncomingMessage, bytesMax: number): void {
  readExcerpt(response, bytesMax, () => {})
}

/** The media type of a body, without its parameters. */
export function mediaType(response: IncomingMessage): string {
  const [type = ''] = (response.headers['content-type'] ?? '').split(';', 1)
  return type.trim().toLowerCase()
}

/** We accept no compression, so there must be none: a few bytes could become gigabytes. */
export function isCompressed(response: IncomingMessage): boolean {
  const encoding = response.headers['content-encoding'] ?? ''
  return encoding !== '' && encoding.trim().toLowerCase() !== 'identity'
}

function whenCut(response: IncomingMessage, cut: () => void): void {
  response.on('error', cut)
  response.on('close', cut)
}

function once<Args extends readonly unknown[]>(run: (...args: Args) => void): (...args: Args) => void {
  let ran = false
  return (...args) => {
    if (ran) return
    ran = true
    run(...args)
  }
}
