// Reads the body of a request as one message. The header cannot change the limits of size and speed.
//
// All large bodies together have a limit too. It counts received bytes, not the declared length, so a few
// bytes cannot claim much memory. The limit on connections also limits small bodies.

import { CR, LF } from '../../jsonrpc/ascii.js'
import { isBatch, splitBatch, type Frame, readFrame } from '../../jsonrpc/frame.js'
import { FrameError } from '../../jsonrpc/jsonrpc-errors.js'
import { type Line, joinLine, lineAt, toLine } from '../../jsonrpc/line.js'
import { Pieces } from '../pieces.js'
import { withoutMark } from '../unfinished-line.js'
import type { RequestHead, HttpResponse } from '../http1/server.js'
import type { HttpEnvironment, ReadableRequest } from './endpoint.js'
import type { HttpServerLimits } from './front-limits.js'
import { type Refusal, isRefusal, refuse, unreadable } from './refusal.js'

/** The message of a POST, or several messages in an array. */
export interface PostedMessage {
  readonly head: RequestHead
  readonly line: Line
  readonly frames: readonly Frame[]
  readonly isBatch: boolean
  /** Undefined for a small body. */
  readonly hold: BodyReservation | undefined
}

export function hasRequest({ frames }: PostedMessage): boolean {
  return frames.some(({ kind }) => kind === 'request')
}

/** A message, or why it is refused; undefined if its client has left. */
export type ReadResult = PostedMessage | Refusal | undefined

type Body = Pick<PostedMessage, 'line' | 'hold'>

interface Reading {
  bytes: number
  /** The size at the last check, and the time of that check. */
  seenBytes: number
  seenAtMs: number
  /** Undefined after the end. A set may keep removed entries (`churn-map.ts`), and this closure holds the body. */
  giveUp: (() => void) | undefined
}

/** Reads bodies, refuses slow ones, and counts the bytes of all. */
export class Bodies {
  readonly #limits: HttpServerLimits
  readonly #environment: HttpEnvironment
  readonly #readings = new Set<Reading>()
  #bytes = 0

  constructor(environment: HttpEnvironment) {
    this.#limits = environment.limits
    this.#environment = environment
  }

  /** Reads the message of a POST, synchronously if the body arrived with the head. An oversize message is not read. */
  read(request: ReadableRequest): ReadResult | Promise<ReadResult> {
    const { head, body, response } = request
    if (!isJson(head.fields.get('content-type'))) return refuse(415, 'Content-Type must be application/json')
    if (response.isClosed) return undefined
    const { framing } = head
    if (framing.kind === 'length' && framing.bytes > this.#limits.bodyBytesMax) return this.#tooLarge()
    if (body === undefined) return this.#readPieces(request).then((came) => this.#message(came, head))
    const bytes = body.length
    this.#bytes += bytes
    const came = this.#excess(bytes) ?? this.#whole(toLine(body), bytes, response)
    this.#release(came, bytes)
    return this.#message(came, head)
  }

  #readPieces({ wire, response }: ReadableRequest): Promise<Body | Refusal | undefined> {
    return new Promise((resolve) => {
      const pieces = new Pieces()
      const done = (came: Body | Refusal | undefined): void => {
        if (reading.giveUp === undefined) return
        reading.giveUp = undefined
        this.#readings.delete(reading)
        this.#release(came, reading.bytes)
        resolve(came)
      }
      const giveUp = (): void => done(refuse(408, 'The body comes too slowly'))
      const reading: Reading = { bytes: 0, seenBytes: 0, seenAtMs: this.#environment.now(), giveUp }
      this.#readings.add(reading)
      wire?.readBody({
        data: (chunk) => {
          // The remaining bytes of a refused body still arrive.
          if (reading.giveUp === undefined) return
          reading.bytes += chunk.length
          this.#bytes += chunk.length
          pieces.add(chunk)
          const excess = this.#excess(reading.bytes)
          if (excess !== undefined) done(excess)
        },
        end: () => {
          if (reading.giveUp !== undefined)
            done(this.#whole(joinLine(pieces.take()), reading.bytes, response))
        },
        gone: () => done(undefined),
      })
    })
  }

  sweep(): void {
    const { slowBodyMs, slowBodyBytes } = this.#limits
    const nowMs = this.#environment.now()
    for (const reading of this.#readings) {
      if (nowMs - reading.seenAtMs < slowBodyMs) continue
      if (reading.bytes - reading.seenBytes < slowBodyBytes) reading.giveUp?.()
      reading.seenBytes = reading.bytes
      reading.seenAtMs = nowMs
    }
  }

  #excess(bytes: number): Refusal | undefined {
    const { bodyBytesMax, smallBodyBytes, bodiesBytesMax } = this.#limits
    if (bytes > bodyBytesMax) return this.#tooLarge()
    if (bytes <= smallBodyBytes || this.#bytes <= bodiesBytesMax) return undefined
    return refuse(503, 'Too many large messages are being served', { 'retry-after': '1' })
  }

  #tooLarge(): Refusal {
    return refuse(413, `A message may have ${this.#limits.bodyBytesMax} bytes`)
  }

  #whole(line: Line, bytes: number, response: HttpResponse): Body {
    const isSmall = bytes <= this.#limits.smallBodyBytes
    const hold = isSmall ? undefined : new BodyReservation(response, () => void (this.#bytes -= bytes))
    return { line: trimmed(withoutMark(line)), hold }
  }

  /** Stops counting a body without a reservation. */
  #release(came: Body | Refusal | undefined, bytes: number): void {
    if (came === undefined || isRefusal(came) || came.hold === undefined) this.#bytes -= bytes
  }

  #message(came: Body | Refusal | undefined, head: RequestHead): ReadResult {
    if (came === undefined || isRefusal(came)) return came
    const { line, hold } = came
    try {
      const isOfBatch = isBatch(line)
      const lines = isOfBatch ? splitBatch(line) : [line]
      const frames = lines.map((member) => readFrame(member))
      return { head, line, frames, isBatch: isOfBatch, hold }
    } catch (error) {
      if (error instanceof FrameError) return unreadable(error)
      throw error
    }
  }
}

/** Removes line ends after the message. A line has a line feed after its last byte. */
function trimmed(line: Line): Line {
  let end = line.length
  while (end > 0 && (line[end - 1] === LF || line[end - 1] === CR)) end--
  if (end === line.length) return line
  line[end] = LF
  return lineAt(line, 0, end)
}

/** Whether a `Content-Type` is JSON. Browsers send other types to other sites without a preflight. */
export function isJson(contentType: string | undefined): boolean {
  return /^application\/json[ \t]*(?:;|$)/i.test(contentType?.trim() ?? '')
}

/** Memory for one large body, reserved until its response is closed and each holder has released it. */
export class BodyReservation {
  readonly #free: () => void
  #holders = 1

  constructor(response: HttpResponse, free: () => void) {
    this.#free = free
    response.whenClosed(() => this.release())
  }

  hold(): void {
    this.#holders++
  }

  /** Each holder calls this once. */
  release(): void {
    if (--this.#holders === 0) this.#free()
  }
}
