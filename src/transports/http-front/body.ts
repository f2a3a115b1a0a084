// The body of a request as one message, never larger than allowed, whatever its header says, and never slower.

import type { Buffer } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { CR, LF } from '../../jsonrpc/ascii.js'
import { type Line, joinLine, lineAt } from '../../jsonrpc/line.js'

export type Body =
  | { readonly kind: 'line'; readonly line: Line }
  | { readonly kind: 'too-large' }
  | { readonly kind: 'too-slow' }
  /** The client went away before the end. */
  | { readonly kind: 'gone' }

export interface BodiesLimits {
  readonly bodyBytesMax: number
  /** A body must bring this many bytes in each such time, or end. */
  readonly slowBodyMs: number
  readonly slowBodyBytes: number
}

/** One body that is on its way. */
interface Reading {
  bytes: number
  /** What it had when it was looked at last, and when that was. */
  seenBytes: number
  seenAtMs: number
  readonly giveUp: () => void
}

/** Reads bodies, and gives up those that drip. */
export class Bodies {
  readonly #limits: BodiesLimits
  readonly #now: () => number
  readonly #readings = new Set<Reading>()

  constructor(limits: BodiesLimits, now: () => number) {
    this.#limits = limits
    this.#now = now
  }

  /** Reads a body; one that is too large is left where it is. `declared` is its `Content-Length`. */
  read(request: IncomingMessage, declared: string | undefined): Promise<Body> {
    const { bodyBytesMax } = this.#limits
    if (Number(declared ?? 0) > bodyBytesMax) return Promise.resolve({ kind: 'too-large' })
    return new Promise((resolve) => {
      const chunks: Buffer[] = []
      const take = (chunk: Buffer): void => {
        reading.bytes += chunk.length
        chunks.push(chunk)
        if (reading.bytes > bodyBytesMax) done({ kind: 'too-large' })
      }
      const done = (body: Body): void => {
        this.#readings.delete(reading)
        request.off('data', take)
        resolve(body)
      }
      const reading = this.#begin(() => done({ kind: 'too-slow' }))
      request.on('data', take)
      request.once('end', () => done({ kind: 'line', line: trimmed(joinLine(chunks, reading.bytes)) }))
      request.once('close', () => done({ kind: 'gone' }))
    })
  }

  /** Looks at every body that is on its way. */
  sweep(): void {
    const { slowBodyMs, slowBodyBytes } = this.#limits
    const nowMs = this.#now()
    for (const reading of this.#readings) {
      if (nowMs - reading.seenAtMs < slowBodyMs) continue
      if (reading.bytes - reading.seenBytes < slowBodyBytes) reading.giveUp()
      reading.seenBytes = reading.bytes
      reading.seenAtMs = nowMs
    }
  }

  #begin(giveUp: () => void): Reading {
    const reading = { bytes: 0, seenBytes: 0, seenAtMs: this.#now(), giveUp }
    this.#readings.add(reading)
    return reading
  }
}

/** A line end behind the message is no part of it; the line feed behind a line in memory of its own may move up. */
function trimmed(line: Line): Line {
  let end = line.length
  while (end > 0 && (line[end - 1] === LF || line[end - 1] === CR)) end--
  if (end === line.length) return line
  line[end] = LF
  return lineAt(line, 0, end)
}
