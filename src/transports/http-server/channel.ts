// One connection of a client: what is asked on it, what is answered, and when it ends.

import type { Buffer } from 'node:buffer'
import { LONG_READ_BYTES, allocateGcBallast } from '../../runtime/gc-ballast.js'
import { HttpSyntaxError } from '../http1/grammar.js'
import { writeAll } from '../http1/write.js'
import type { HttpEnvironment } from './endpoint.js'
import { Intake } from './intake.js'
import type { FrontListener } from './front-listener.js'
import type { FrontSocket, HttpRequest, RequestBodySink, RequestWire } from './request.js'
import type { RequestHead } from './request-head.js'
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

/** One socket and its requests. */
export class FrontChannel implements RequestWire, ResponseWire {
  readonly socket: FrontSocket
  readonly #environment: HttpEnvironment
  readonly #listener: FrontListener
  readonly #serve: (request: HttpRequest) => void
  readonly #intake: Intake
  /** The fields of a response after which another may follow. */
  readonly #stays: string
  /** The one that is being answered. */
  #request: Pick<HttpRequest, 'head' | 'response'> | undefined
  /** Since when it rests, or the request comes that is not there whole. */
  #sinceMs: number
  #isFirst = true
  /** It ends with what is being answered. */
  #isLast = false
  #isTimed = false
  /** The end of a refused request is read until this timer fires, so that its client can read the refusal. */
  #lingering: { cancel(): void } | undefined
  /** The client has left, or its input is ignored. */
  #isGone = false

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
    this.#intake = new Intake(socket, environment.limits, this)
    this.#stays = stays(environment.limits.idleConnectionMs)
    this.#sinceMs = environment.now()
    socket.on('data', (chunk: Buffer) => {
      if (chunk.length >= LONG_READ_BYTES) allocateGcBallast(chunk.length)
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

  /** Nothing is asked on it, and nothing has begun to come. */
  get isIdle(): boolean {
    return this.#request === undefined && this.#intake.isResting
  }

  /** Since when it rests between two requests; Infinity when it does not. */
  get restsSinceMs(): number {
    return this.isIdle && !this.#isFirst && !this.#isLast && !this.#isGone ? this.#sinceMs : Infinity
  }

  /** Looks whether the client has had its time; between two requests that is `idleMs`. */
  sweep(idleMs: number): 'late' | 'idle' | undefined {
    const { headersTimeoutMs, requestTimeoutMs } = this.#environment.limits
    const forMs = this.#environment.now() - this.#sinceMs
    if (this.#isGone || this.#lingering !== undefined) return undefined
    if (this.#request !== undefined)
      return this.#intake.isLeft && forMs > requestTimeoutMs ? 'late' : undefined
    if (this.isIdle && !this.#isFirst) return forMs > idleMs ? 'idle' : undefined
    return forMs > headersTimeoutMs ? 'late' : undefined
  }

  /** Ends it in order: what was written leaves. */
  close(): void {
    this.#isLast = true
    this.socket.end(() => this.socket.destroy())
  }

  /** Answers what is no request, or comes too late: nothing behind it on this connection can be trusted. */
  refuse(status: number): void {
    if (this.#isGone || this.#lingering !== undefined) return
    const hasBegun = this.#request?.response.hasBegun === true
    this.#leave()
    if (hasBegun || !this.socket.writable) return void this.socket.destroy()
    this.socket.end(`${statusLine(status)}${CLOSES}content-length: 0\r\n\r\n`, 'latin1')
    this.#linger()
  }

  // For the intake to call.

  /** Whether another request may begin. */
  get isOpen(): boolean {
    return !this.#isLast && this.#request === undefined
  }

  /** `body` is all of it where it came with the head. */
  begins(head: RequestHead, body: Buffer | undefined): void {
    const response = new HttpResponse(this, head)
    // Without its body, which can go when it has been read.
    this.#request = { head, response }
    if (body !== undefined) this.whole()
    this.#serve({ wire: this, head, body, response })
  }

  /** The body that did not come with its head has come whole. */
  whole(): void {
    this.#listener.asked(this)
  }

  /** Calls `goOn` in another turn, so that others have theirs. */
  later(goOn: () => void): void {
    this.#listener.later(goOn)
  }

  /** The input is no request, or reading it failed. */
  failed(error: unknown): void {
    if (error instanceof HttpSyntaxError) return this.refuse(error.code === 'TOO_LONG' ? 431 : 400)
    this.#environment.failed(error)
    this.cut()
  }

  // RequestWire

  readBody(sink: RequestBodySink): void {
    this.#intake.readBody(sink, this.#request?.head.expectation !== undefined)
  }

  // ResponseWire

  get unsentBytes(): number {
    return this.socket.writableLength
  }

  begin(closes: boolean): string {
    const keepsAlive = this.#request?.head.keepsAlive === true && this.#intake.isWhole
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

  readonly #written = (): void => {
    if (this.unsentBytes === 0 && this.#request?.response.hasEnded === true) this.#finish()
  }

  #take(chunk: Buffer): void {
    if (!this.isIdle) return this.#intake.take(chunk)
    const nowMs = this.#environment.now()
    this.#intake.take(chunk)
    // Empty lines are no request: the connection is still idle after them.
    if (!this.isIdle) this.#sinceMs = nowMs
  }

  /** The system has taken the whole response. */
  #finish(): void {
    const request = this.#request
    this.#request = undefined
    if (this.#isTimed) this.socket.setTimeout?.(0)
    this.#isTimed = false
    request?.response.close()
    if (this.#isGone) return
    if (!this.#intake.isWhole) return this.#dropBody()
    if (this.#isLast || this.#listener.isStopping) return this.close()
    this.#isFirst = false
    this.#sinceMs = this.#environment.now()
    this.#intake.next()
  }

  /** Reads and drops the end of a body: closing the connection before it could lose the answer. */
  #dropBody(): void {
    this.#linger()
    this.#intake.readBody({ data: nothing, end: () => this.close(), gone: nothing }, false)
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
    this.#intake.end()
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
