// One connection of a client: its requests, one after the other, their responses, and its end.
//
// HTTP/1.1 lets a client send the next request before it has the answer to the last. Few clients do that, and attackers who
// hide one request in the body of another do. So bytes behind a request are not read until it is answered, and never if
// that answer ends the connection.

import { Buffer } from 'node:buffer'
import { HttpSyntaxError } from '../http1/grammar.js'
import { writeAll } from '../http1/bytes.js'
import type { HttpEnvironment } from './endpoint.js'
import type { FrontListener } from './front-listener.js'
import {
  type FrontSocket,
  type HttpRequest,
  type RequestBodySink,
  type RequestWire,
  type RequestHead,
  RequestReader,
  type RequestSink,
} from './request-head.js'
import { HttpResponse, type ResponseWire, statusLine } from './response.js'

// The header fields of a response about its connection (RFC 9112, section 9.3).

/** It ends with the response. */
const CLOSES = 'connection: close\r\n'

/** A client counts from the moment when it has the answer, and its last request takes a while to arrive. */
const ON_THE_WAY_MS = 2000

/** Another request may follow within this time; what is announced is a little less. */
function stays(idleMs: number): string {
  const announcedMs = Math.max(0, idleMs - ON_THE_WAY_MS)
  return `connection: keep-alive\r\nkeep-alive: timeout=${Math.floor(announcedMs / 1000)}\r\n`
}

/** The number of pieces that are read of one connection in a turn, so that a client with many small pieces delays no other. */
const PIECES_MAX = 512

/** To serve a request costs as much as so many pieces of a body. */
const PIECES_PER_REQUEST = 128

/** So much is read behind a request that is being answered, so that the end of the connection is seen. */
const REST_BYTES_MAX = 16 * 1024

const NOTHING = Buffer.alloc(0)
const CONTINUE = Buffer.from('HTTP/1.1 100 Continue\r\n\r\n')

/** One socket and its requests. */
export class FrontConnection implements RequestWire, ResponseWire {
  readonly socket: FrontSocket
  readonly #environment: HttpEnvironment
  readonly #listener: FrontListener
  readonly #serve: (request: HttpRequest) => void
  readonly #reader: RequestReader
  readonly #input: RequestSink = {
    head: (head, body) => this.#head(head, body),
    data: (chunk) => {
      this.#isExpected = false
      this.#body?.data(chunk)
    },
  }
  /** The fields of a response after which another may follow. */
  readonly #stays: string
  /** The one that is being answered. */
  #request: Pick<HttpRequest, 'head' | 'response'> | undefined
  /** When it began to rest, or the first bytes of the incomplete request came. */
  #sinceMs: number
  #isFirst = true
  /** It ends with what is being answered. */
  #isLast = false
  #isTimed = false
  /** The end of a refused request is read until this timer fires, so that its client can read the refusal. */
  #lingering: { cancel(): void } | undefined
  /** The client has left, or its input is ignored. */
  #isGone = false
  /** The reader of the body of the request. */
  #body: RequestBodySink | undefined
  /** Bytes that came and were not taken. */
  #rest: Buffer = NOTHING
  #isTaking = false
  #isPaused = false
  /** Pieces since the last chunk came, or since it went on with the next turn. */
  #pieces = 0
  /** It has taken much in this turn, and goes on in another. */
  #isYielding = false
  /** The client waits for 100 Continue. */
  #isExpected = false

  constructor(
    socket: FrontSocket,
    environment: HttpEnvironment,
    listener: FrontListener,
    serve: (request: HttpRequest) => void,
  ) {
    this.socket = socket
    this.#environment = environment
    this.#listener = listener
    this.#serve = serve
    this.#reader = new RequestReader(environment.limits)
    this.#stays = stays(environment.limits.idleConnectionMs)
    this.#sinceMs = environment.now()
    socket.on('data', (chunk: Buffer) => {
      this.#take(chunk)
    })
    socket.on('drain', () => this.#request?.response.onDrain())
    socket.on('timeout', () => {
      if (this.unsentBytes > 0) this.cut()
    })
    // The system says the same once more by closing it.
    socket.on('error', () => undefined)
    socket.on('end', () => this.#hungUp())
    socket.on('close', () => this.#closed())
  }

  /** Since when it rests between two requests; Infinity when it does not. */
  get restsSinceMs(): number {
    return this.#isIdle && !this.#isFirst && !this.#isLast && !this.#isGone ? this.#sinceMs : Infinity
  }

  /** Closes it when it has been idle for longer than `idleMs`; gives whether its request is late. */
  sweep(idleMs: number): boolean {
    const { headersTimeoutMs, requestTimeoutMs } = this.#environment.limits
    const forMs = this.#environment.now() - this.#sinceMs
    if (this.#isGone || this.#lingering !== undefined) return false
    if (this.#request !== undefined)
      return !this.#reader.isWhole && this.#body === undefined && forMs > requestTimeoutMs
    if (this.#isFirst || !this.#isIdle) return forMs > headersTimeoutMs
    if (forMs > idleMs) this.#close()
    return false
  }

  /** Ends it now where nothing is asked on it; otherwise the response in progress is its last. */
  stop(): void {
    if (this.#isIdle) this.#close()
  }

  /** Answers invalid or late input, and ends the connection: nothing behind such input can be trusted. */
  refuse(status: number): void {
    if (this.#isGone || this.#lingering !== undefined) return
    const hasBegun = this.#request?.response.hasBegun === true
    this.#leave()
    if (hasBegun || !this.socket.writable) return void this.socket.destroy()
    this.socket.end(`${statusLine(status)}${CLOSES}content-length: 0\r\n\r\n`, 'latin1')
    this.#linger()
  }

  // RequestWire

  readBody(sink: RequestBodySink): void {
    if (this.#isGone) return sink.gone()
    this.#body = sink
    this.#isExpected = this.#request?.head.expectation !== undefined
    this.#goOn()
  }

  // ResponseWire

  get unsentBytes(): number {
    return this.socket.writableLength
  }

  begin(closes: boolean): string {
    const keepsAlive = this.#request?.head.keepsAlive === true && this.#reader.isWhole
    if (closes || !keepsAlive || this.#listener.isStopping || this.#listener.isShort) this.#isLast = true
    return this.#listener.date() + (this.#isLast ? CLOSES : this.#stays)
  }

  write(pieces: readonly Uint8Array[]): void {
    if (this.#isGone) return
    writeAll(this.socket, pieces, this.#written)
  }

  ended(): void {
    if (this.unsentBytes === 0) this.#finish()
    else this.cutWhenStalled()
  }

  cut(): void {
    this.socket.destroy()
    this.#leave()
  }

  cutWhenStalled(): void {
    this.#isTimed = true
    this.socket.setTimeout?.(this.#environment.limits.stallMs)
  }

  #head(head: RequestHead, body: Buffer | undefined): void {
    this.#pieces += PIECES_PER_REQUEST
    const response = new HttpResponse(this, head)
    // The body is not kept here, so that its memory is free once it has been read.
    this.#request = { head, response }
    if (body !== undefined) this.#listener.asked(this)
    this.#serve({ wire: this, head, body, response })
  }

  /** Nothing is asked on it, and nothing has begun to come. */
  get #isIdle(): boolean {
    return this.#request === undefined && this.#reader.isResting && this.#rest.length === 0
  }

  /** Ends it in order: what was written leaves. */
  #close(): void {
    this.#isLast = true
    this.socket.end(() => this.socket.destroy())
  }

  readonly #written = (): void => {
    if (this.unsentBytes === 0 && this.#request?.response.hasEnded === true) this.#finish()
  }

  #take(chunk: Buffer): void {
    if (this.#isGone) return
    const wasIdle = this.#isIdle
    const nowMs = wasIdle ? this.#environment.now() : 0
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    this.#pieces = 0
    this.#goOn()
    // Empty lines are no request: the connection is still idle after them.
    if (wasIdle && !this.#isIdle) this.#sinceMs = nowMs
  }

  /** Takes the available bytes while there is a reader for them. */
  #goOn(): void {
    if (this.#isTaking) return
    this.#isTaking = true
    try {
      while (this.#rest.length > 0 && this.#wants && !this.#mustYield()) this.#takeSome()
    } catch (error) {
      this.#failed(error)
    } finally {
      this.#isTaking = false
    }
    if (this.#isExpected && this.#rest.length === 0) {
      this.#isExpected = false
      this.socket.write(CONTINUE)
    }
    this.#pause(this.#rest.length > REST_BYTES_MAX || (this.#rest.length > 0 && this.#wants))
  }

  get #wants(): boolean {
    if (this.#isGone || this.#reader.isWhole) return false
    return this.#reader.isInBody ? this.#body !== undefined : !this.#isLast && this.#request === undefined
  }

  #mustYield(): boolean {
    if (this.#pieces < PIECES_MAX) return false
    if (this.#isYielding) return true
    this.#isYielding = true
    this.#listener.later(() => {
      this.#isYielding = false
      this.#pieces = 0
      this.#goOn()
    })
    return true
  }

  #takeSome(): void {
    this.#pieces++
    const bytes = this.#rest
    this.#rest = NOTHING
    this.#rest = this.#reader.take(bytes, this.#input)
    if (!this.#reader.isWhole || this.#body === undefined) return
    const body = this.#body
    this.#body = undefined
    this.#isExpected = false
    this.#listener.asked(this)
    body.end()
  }

  #pause(on: boolean): void {
    if (this.#isGone || on === this.#isPaused) return
    this.#isPaused = on
    if (on) this.socket.pause()
    else this.socket.resume()
  }

  /** The input is no request, or reading it failed. */
  #failed(error: unknown): void {
    if (error instanceof HttpSyntaxError) return this.refuse(error.code === 'TOO_LONG' ? 431 : 400)
    this.#environment.failed(error)
    this.cut()
  }

  /** The system has taken the whole response. */
  #finish(): void {
    const request = this.#request
    this.#request = undefined
    if (this.#isTimed) this.socket.setTimeout?.(0)
    this.#isTimed = false
    request?.response.close()
    if (this.#isGone) return
    if (!this.#reader.isWhole) return this.#dropBody()
    if (this.#isLast || this.#listener.isStopping) return this.#close()
    this.#isFirst = false
    this.#sinceMs = this.#environment.now()
    this.#reader.next()
    this.#goOn()
  }

  /** Reads and drops the end of a body: closing the connection before it could lose the answer. */
  #dropBody(): void {
    this.#linger()
    this.readBody({ data: nothing, end: () => this.#close(), gone: nothing })
  }

  #linger(): void {
    const { refusedBodyMs } = this.#environment.limits
    this.#lingering = this.#environment.setTimer(refusedBodyMs, () => this.socket.destroy())
  }

  /** The client waits for nothing more; what was written may still leave. */
  #hungUp(): void {
    this.#leave()
    if (this.unsentBytes > 0) this.cutWhenStalled()
    this.socket.end(() => this.socket.destroy())
  }

  #leave(): void {
    if (this.#isGone) return
    this.#isGone = true
    this.#rest = NOTHING
    this.#body?.gone()
    this.#body = undefined
    this.#request?.response.close()
    // Further input is read and dropped, so that the end of the connection is seen.
    this.socket.resume()
  }

  #closed(): void {
    this.#leave()
    this.#lingering?.cancel()
    this.#listener.gone(this)
  }
}

function nothing(): void {}
