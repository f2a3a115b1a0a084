// One connection of a client: what is asked on it, what is answered, and when it ends.

import type { Buffer } from 'node:buffer'
import { HttpSyntaxError } from '../http1/syntax-error.js'
import { writeAll } from '../http1/write.js'
import type { HttpTimer, SetTimer } from './clock.js'
import { Intake, type IntakeOwner } from './intake.js'
import { CLOSES, stays } from './persistence.js'
import { type FrontSocket, HttpRequest, type RequestBodySink, type RequestWire } from './request.js'
import type { RequestHead } from './request-head.js'
import type { RequestLimits } from './request-reader.js'
import { HttpResponse, type ResponseWire } from './response.js'
import { statusLine } from './status-line.js'

export interface ChannelLimits extends RequestLimits {
  readonly headersTimeoutMs: number
  readonly requestTimeoutMs: number
  readonly idleConnectionMs: number
  readonly refusedBodyMs: number
  /** How long a client may take nothing of what was sent. */
  readonly stallMs: number
}

/** The listener of a connection. */
export interface ChannelOwner {
  readonly limits: ChannelLimits
  readonly setTimer: SetTimer
  /** Whether every connection ends with what is being answered on it. */
  readonly isStopping: boolean
  /** Whether connections should rather end than rest. */
  readonly isShort: boolean
  /** Monotonic, in milliseconds. */
  now(): number
  /** The field that says when a response is made, with its line end. */
  date(): string
  /** A request has come whole. */
  asked(channel: FrontChannel): void
  serve(request: HttpRequest, response: HttpResponse): void
  /** Calls `goOn` in another turn: only a few of those that ask for it in each. */
  later(goOn: () => void): void
  /** The connection is closed. */
  gone(channel: FrontChannel): void
  /** Something went wrong that is our own fault. */
  failed(error: unknown): void
}

/** One socket and its requests. */
export class FrontChannel implements IntakeOwner, RequestWire, ResponseWire {
  readonly socket: FrontSocket
  readonly #owner: ChannelOwner
  readonly #intake: Intake
  /** What a response says where another may follow. */
  readonly #stays: string
  #response: HttpResponse | undefined
  #head: RequestHead | undefined
  /** Since when it rests, or the request comes that is not there whole. */
  #sinceMs: number
  #isFirst = true
  /** It ends with what is being answered. */
  #isLast = false
  #isTimed = false
  /** The rest of a request is read for a while, so that its client can read why it is refused. */
  #lingering: HttpTimer | undefined
  /** Its client is not heard any more. */
  #isGone = false

  constructor(socket: FrontSocket, owner: ChannelOwner) {
    const { limits } = owner
    this.socket = socket
    this.#owner = owner
    this.#intake = new Intake(socket, limits, this)
    this.#stays = stays(limits.idleConnectionMs)
    this.#sinceMs = owner.now()
    socket.on('data', (chunk: Buffer) => this.#take(chunk))
    socket.on('drain', () => this.#response?.onDrain())
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
    return this.#response === undefined && this.#intake.isResting
  }

  /** Since when it rests between two requests; Infinity when it does not. */
  get restsSinceMs(): number {
    return this.isIdle && !this.#isFirst && !this.#isLast && !this.#isGone ? this.#sinceMs : Infinity
  }

  /** Looks whether the client has had its time; between two requests that is `idleMs`. */
  sweep(nowMs: number, idleMs: number): 'late' | 'idle' | undefined {
    const { headersTimeoutMs, requestTimeoutMs } = this.#owner.limits
    const forMs = nowMs - this.#sinceMs
    if (this.#isGone || this.#lingering !== undefined) return undefined
    if (this.#response !== undefined)
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
    const hasBegun = this.#response?.hasBegun === true
    this.#leave()
    if (hasBegun || !this.socket.writable) return void this.socket.destroy()
    this.socket.end(`${statusLine(status)}${CLOSES}content-length: 0\r\n\r\n`, 'latin1')
    this.#linger()
  }

  // IntakeOwner

  get isOpen(): boolean {
    return !this.#isLast && this.#response === undefined
  }

  begins(head: RequestHead, body: Buffer | undefined): void {
    const response = new HttpResponse(this, head)
    this.#head = head
    this.#response = response
    if (body !== undefined) this.whole()
    this.#owner.serve(new HttpRequest(this, head, body), response)
  }

  whole(): void {
    this.#owner.asked(this)
  }

  later(goOn: () => void): void {
    this.#owner.later(goOn)
  }

  failed(error: unknown): void {
    if (error instanceof HttpSyntaxError) return this.refuse(error.code === 'TOO_LONG' ? 431 : 400)
    this.#owner.failed(error)
    this.cut()
  }

  // RequestWire

  readBody(sink: RequestBodySink): void {
    this.#intake.readBody(sink, this.#head?.expectation !== undefined)
  }

  // ResponseWire

  get unsentBytes(): number {
    return this.socket.writableLength
  }

  begin(closes: boolean): string {
    const keepsAlive = this.#head?.keepsAlive === true && this.#intake.isWhole
    if (closes || !keepsAlive || this.#owner.isStopping || this.#owner.isShort) this.#isLast = true
    return this.#owner.date() + (this.#isLast ? CLOSES : this.#stays)
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
    this.socket.setTimeout?.(this.#owner.limits.stallMs)
  }

  readonly #written = (): void => {
    if (this.unsentBytes === 0 && this.#response?.hasEnded === true) this.#finish()
  }

  #take(chunk: Buffer): void {
    if (!this.isIdle) return this.#intake.take(chunk)
    const nowMs = this.#owner.now()
    this.#intake.take(chunk)
    // Empty lines are no request: whoever sends nothing else goes on resting.
    if (!this.isIdle) this.#sinceMs = nowMs
  }

  /** The system has taken the whole response. */
  #finish(): void {
    const response = this.#response
    this.#response = undefined
    this.#head = undefined
    if (this.#isTimed) this.socket.setTimeout?.(0)
    this.#isTimed = false
    response?.close()
    if (this.#isGone) return
    if (!this.#intake.isWhole) return this.#dropBody()
    if (this.#isLast || this.#owner.isStopping) return this.close()
    this.#isFirst = false
    this.#sinceMs = this.#owner.now()
    this.#intake.next()
  }

  /** What is left of a body is not worth reading, but a connection that is closed in the client's face loses the answer too. */
  #dropBody(): void {
    this.#linger()
    this.#intake.readBody({ data: nothing, end: () => this.close(), gone: nothing }, false)
  }

  #linger(): void {
    const { setTimer, limits } = this.#owner
    this.#lingering = setTimer(limits.refusedBodyMs, () => this.socket.destroy())
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
    this.#response?.close()
    // Whatever comes now is read and dropped, so that its end is seen.
    this.socket.resume()
  }

  #closed(): void {
    this.#leave()
    this.#lingering?.cancel()
    this.#owner.gone(this)
  }
}

function nothing(): void {}
