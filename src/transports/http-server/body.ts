// The body of a request as one message, never larger than allowed, whatever its header says, and never slower.
//
// All bodies together have a limit too. What counts is what has come, not what a
// header says, so nobody can claim memory with a few bytes; and small bodies are
// taken whatever large ones are there, since their number is limited already.

import { CR, LF } from '../../jsonrpc/ascii.js'
import { BriefMap } from '../../jsonrpc/fast/brief-map.js'
import { type Line, lineAt, toLine } from '../../jsonrpc/line.js'
import { WholeBody } from '../http1/whole-body.js'
import { BodyReservation } from './body-reservation.js'
import type { HttpRequest } from './request.js'
import type { HttpResponse } from './response.js'
import { Slices } from './slices.js'

export type Body =
  | { readonly kind: 'line'; readonly line: Line; readonly hold: BodyReservation | undefined }
  | { readonly kind: 'too-large' }
  | { readonly kind: 'too-slow' }
  /** It is large, and others have taken the memory for large ones. */
  | { readonly kind: 'too-many' }
  /** The client went away before the end. */
  | { readonly kind: 'gone' }

export interface BodyFrom {
  readonly request: HttpRequest
  readonly response: HttpResponse
}

export interface BodiesLimits {
  readonly bodyBytesMax: number
  readonly smallBodyBytes: number
  readonly bodiesBytesMax: number
  /** A body must bring this many bytes in each such time, or end. */
  readonly slowBodyMs: number
  readonly slowBodyBytes: number
}

/** One body that is on its way. */
interface Reading {
  readonly number: number
  bytes: number
  /** What it had when it was looked at last, and when that was. */
  seenBytes: number
  seenAtMs: number
  readonly giveUp: () => void
}

/** Reads bodies, gives up those that drip, and counts what all of them hold. */
export class Bodies {
  readonly #limits: BodiesLimits
  readonly #now: () => number
  readonly #readings = new BriefMap<number, Reading>()
  readonly #slices = new Slices()
  #last = 0
  #bytes = 0

  constructor(limits: BodiesLimits, now: () => number) {
    this.#limits = limits
    this.#now = now
  }

  /** Reads a body, at once where it has come with its head; one that is too large is left where it is. */
  read({ request, response }: BodyFrom): Body | Promise<Body> {
    // Its session let it wait, and its client has not.
    if (response.isClosed) return { kind: 'gone' }
    const { framing } = request.head
    if (framing.kind === 'length' && framing.bytes > this.#limits.bodyBytesMax) return { kind: 'too-large' }
    if (request.body === undefined) return this.#readPieces(request, response)
    const bytes = request.body.length
    this.#bytes += bytes
    const excess = this.#excess(bytes)
    const body = excess === undefined ? this.#whole(toLine(request.body), bytes, response) : { kind: excess }
    if (body.kind !== 'line' || body.hold === undefined) this.#bytes -= bytes
    return body
  }

  #readPieces(request: HttpRequest, response: HttpResponse): Promise<Body> {
    return new Promise((resolve) => {
      const whole = new WholeBody()
      const done = (body: Body): void => {
        if (this.#readings.take(reading.number) === undefined) return
        if (body.kind !== 'line' || body.hold === undefined) this.#bytes -= reading.bytes
        resolve(body)
      }
      const reading = this.#begin(() => done({ kind: 'too-slow' }))
      request.readBy({
        data: (chunk) => {
          // The rest of one that is refused comes too.
          if (!this.#readings.has(reading.number)) return
          reading.bytes += chunk.length
          this.#bytes += chunk.length
          whole.add(chunk)
          const excess = this.#excess(reading.bytes)
          if (excess !== undefined) done({ kind: excess })
        },
        end: () => {
          if (this.#readings.has(reading.number)) done(this.#whole(whole.line(), reading.bytes, response))
        },
        gone: () => done({ kind: 'gone' }),
      })
    })
  }

  /** Looks at every body that is on its way. */
  sweep(): void {
    const { slowBodyMs, slowBodyBytes } = this.#limits
    const nowMs = this.#now()
    for (const reading of this.#readings.values()) {
      if (nowMs - reading.seenAtMs < slowBodyMs) continue
      if (reading.bytes - reading.seenBytes < slowBodyBytes) this.#slices.add(reading.giveUp)
      reading.seenBytes = reading.bytes
      reading.seenAtMs = nowMs
    }
  }

  #excess(bytes: number): 'too-large' | 'too-many' | undefined {
    const { bodyBytesMax, smallBodyBytes, bodiesBytesMax } = this.#limits
    if (bytes > bodyBytesMax) return 'too-large'
    return bytes > smallBodyBytes && this.#bytes > bodiesBytesMax ? 'too-many' : undefined
  }

  #whole(line: Line, bytes: number, response: HttpResponse): Body {
    const isSmall = bytes <= this.#limits.smallBodyBytes
    const hold = isSmall ? undefined : new BodyReservation(response, () => void (this.#bytes -= bytes))
    return { kind: 'line', line: trimmed(line), hold }
  }

  #begin(giveUp: () => void): Reading {
    const reading = { number: ++this.#last, bytes: 0, seenBytes: 0, seenAtMs: this.#now(), giveUp }
    this.#readings.set(reading.number, reading)
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
