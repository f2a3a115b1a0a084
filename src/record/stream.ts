// One direction of one connection, cut into frames and written as lines of a recording.
//
// The splitter of the transports drops blank lines and lines over their limit, since
// nobody could use them. A recording may leave out nothing, so it cuts by itself.

import { Buffer } from 'node:buffer'
import { Scanner } from '../jsonrpc/scan.js'
import type { WireEvent } from '../jsonrpc/wire-tap.js'

/** What is held back of a line that has not ended; a longer one is written in pieces. */
const LINE_BYTES_MAX = 64 * 1024 * 1024

/** No message that anybody reads nests deeper. */
const DEPTH_MAX = 1000

const LF = 0x0a
const CR = 0x0d

/** Holds the unfinished line of one stream. */
export class RecordStream {
  readonly #write: (line: Buffer) => void
  readonly #lineBytesMax: number
  /** The members that are the same in all its lines. */
  readonly #who: string
  #parts: Buffer[] = []
  #bytes = 0
  #at = 0

  constructor(
    { hop, service, connection, direction }: WireEvent,
    write: (line: Buffer) => void,
    lineBytesMax: number = LINE_BYTES_MAX,
  ) {
    this.#write = write
    this.#lineBytesMax = lineBytesMax
    const named = service === undefined ? '' : `,"service":${JSON.stringify(service)}`
    this.#who = `,"hop":"${hop}"${named},"conn":${connection},"dir":"${direction}",`
  }

  /** Takes what was read or written at `at` milliseconds. */
  push(chunk: Buffer, at: number): void {
    this.#at = at
    let start = 0
    for (let end = chunk.indexOf(LF); end >= 0; end = chunk.indexOf(LF, start)) {
      this.#keep(chunk.subarray(start, end + 1))
      this.end()
      start = end + 1
    }
    // A copy: nobody promises that the chunk stays as it is.
    if (start < chunk.length) this.#keep(Buffer.from(chunk.subarray(start)))
    if (this.#bytes > this.#lineBytesMax) this.end()
  }

  /** Writes what is held back, whether its line has ended or not. */
  end(): void {
    if (this.#bytes === 0) return
    const raw = Buffer.concat(this.#parts)
    this.#parts = []
    this.#bytes = 0
    const head = Buffer.from(`{"t":${(this.#at / 1000).toFixed(6)}${this.#who}`)
    this.#write(lineOf(head, raw))
  }

  #keep(part: Buffer): void {
    this.#parts.push(part)
    this.#bytes += part.length
  }
}

function lineOf(head: Buffer, raw: Buffer): Buffer {
  const lineEnd = lineEndOf(raw)
  const frame = raw.subarray(0, raw.length - lineEnd.length)
  if (!isEmbeddable(frame)) {
    return Buffer.concat([head, Buffer.from(`"junk64":"${raw.toString('base64')}"}\n`)])
  }
  const tail = lineEnd === '\n' ? '}\n' : `,"eol":${JSON.stringify(lineEnd)}}\n`
  return Buffer.concat([head, Buffer.from('"frame":'), frame, Buffer.from(tail)])
}

function lineEndOf(raw: Buffer): '' | '\n' | '\r\n' {
  if (raw.at(-1) !== LF) return ''
  return raw.at(-2) === CR ? '\r\n' : '\n'
}

/** Whether the frame inside a line leaves that a line of JSON. */
function isEmbeddable(frame: Buffer): boolean {
  if (frame.includes(CR)) return false
  try {
    const scanner = new Scanner(frame, DEPTH_MAX)
    scanner.finish(scanner.value(scanner.skipSpace(0), 0))
    return true
  } catch {
    return false
  }
}
