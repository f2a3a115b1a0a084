// One connection of a client: its requests in order, their responses, and its end.
//
// A client may send the next request before the answer to the last. Attackers hide a request in the body of
// another that way. So the bytes after a request are read only once it is answered, and never if that answer
// ends the connection. Until then, only a write shows that a client has left. Empty lines do not wait.

import type { Buffer } from 'node:buffer'
import type { Runtime } from '../../runtime/runtime.js'
import { type HttpSocket, writeAll } from './bytes.js'
import { HttpSyntaxError, type RequestHead } from './head.js'
import { type MessageReader, type MessageSink, type RequestLimits, requestReader } from './reader.js'
import { HttpResponse, statusLine } from './response.js'

export { type HttpSocket, TCP_KEEP_ALIVE_MS } from './bytes.js'
export { HttpSyntaxError, RequestHead, ResponseHead } from './head.js'
export { type Fields, HttpResponse, type ResponseWire } from './response.js'

export interface HttpRequest {
  readonly wire: FrontConnection
  readonly head: RequestHead
  /** The whole body, if it arrived with the head. */
  readonly body: Buffer | undefined
  readonly response: HttpResponse
}

/** The reader of a body in pieces. Either `end` or `gone` is called, once. */
export interface RequestBodySink {
  data(chunk: Buffer): void
  end(): void
  /** The body will not end. */
  gone(): void
}

/** The state that the connections of a server share, and its decisions about them. */
export interface FrontServer {
  readonly environment: Pick<Runtime, 'now' | 'wallNow' | 'setTimer'> & {
    readonly limits: RequestLimits & {
      readonly headersTimeoutMs: number
      readonly requestTimeoutMs: number
      readonly idleConnectionMs: number
      readonly lastIdleMs: number
      readonly refusedBodyMs: number
      readonly stallMs: number
    }
    /** Logs a fault of the proxy itself. */
    readonly failed: (error: unknown) => void
  }
  /** Whether every response that begins now is the last of its connection. */
  readonly isDraining: boolean
  serve(request: HttpRequest): void
  requestRead(connection: FrontConnection): void
  gone(connection: FrontConnection): void
  /** Calls `end` when the draining server closes. Returns false if it does not drain. */
  endLast(end: () => void): boolean
}

/** The last response of a connection has this field (RFC 9112, section 9.3). */
const CLOSES = 'connection: close\r\n'
const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n'

export class FrontConnection implements MessageSink<RequestHead> {
  readonly socket: HttpSocket
  readonly #server: FrontServer
  readonly #reader: MessageReader<RequestHead>
  /** The current request. Its body is not stored here, so its memory is free once it has been read. */
  #request: Pick<HttpRequest, 'head' | 'response'> | undefined
  #body: RequestBodySink | undefined
  /** The start of the idle time, or the arrival of the first bytes of an incomplete request. */
  #sinceMs: number
  /** Whether the connection ends after the current response. */
  #isLast = false
  /** Whether the client has left, or its input is ignored. */
  #isGone = false
  /** Until this timer fires, a refused request is read further, so that its client can read the refusal. */
  #lingering: { cancel(): void } | undefined
  /** The number of answered requests. */
  #served = 0

  constructor(socket: HttpSocket, server: FrontServer) {
    const { environment } = server
    this.socket = socket
    this.#server = server
    this.#reader = requestReader(environment.limits)
    this.#sinceMs = environment.now()
    socket.on('data', (chunk: Buffer) => this.#take(chunk))
    socket.on('drain', () => this.#request?.response.onDrain())
    socket.on('timeout', () => {
      if (this.unsentBytes > 0) this.cut()
    })
    // The system also closes the socket.
    socket.on('error', () => undefined)
    socket.on('end', () => {
      this.#leave()
      // Written bytes may still be sent.
      if (this.unsentBytes > 0) this.cutWhenStalled()
      socket.end(() => socket.destroy())
    })
    socket.on('close', () => {
      this.#leave()
      this.#lingering?.cancel()
      server.gone(this)
    })
  }

  /** The time since which the connection is idle between two requests; Infinity if it is not idle. */
  get idleSinceMs(): number {
    return this.#isIdle && this.#served > 0 && !this.#isLast && !this.#isGone ? this.#sinceMs : Infinity
  }

  /** Closes the connection if it has been idle for too long, and refuses a late request. */
  sweep(): void {
    const { headersTimeoutMs, requestTimeoutMs, idleConnectionMs, lastIdleMs } =
      this.#server.environment.limits
    const forMs = this.#server.environment.now() - this.#sinceMs
    if (this.#isGone || this.#lingering !== undefined) return
    if (this.#server.isDraining && this.#isIdle) {
      // Node reads a request that the system already has before this turn ends.
      if (forMs > lastIdleMs) setImmediate(() => this.stop())
    } else if (this.#request !== undefined) {
      if (!this.#reader.isWhole && this.#body === undefined && forMs > requestTimeoutMs) this.refuse(408)
    } else if (this.#served === 0 || !this.#isIdle) {
      if (forMs > headersTimeoutMs) this.refuse(408)
    } else if (forMs > idleConnectionMs) this.#close()
  }

  /** Restarts the idle time. */
  countIdle(): void {
    if (this.#isIdle) this.#sinceMs = this.#server.environment.now()
  }

  /** Closes an idle connection. Otherwise the current response is the last. */
  stop(): void {
    if (this.#isIdle) this.#close()
  }

  /** Answers invalid or late input, and ends the connection, because no later byte can be trusted. */
  refuse(status: number): void {
    if (this.#isGone || this.#lingering !== undefined) return
    const hasBegun = this.#request?.response.hasBegun === true
    this.#leave()
    if (hasBegun || !this.socket.writable) return void this.socket.destroy()
    this.socket.end(`${statusLine(status)}${CLOSES}content-length: 0\r\n\r\n`, 'latin1')
    this.#linger()
  }

  /** Starts to read a body that did not arrive with the head. */
  readBody(sink: RequestBodySink): void {
    if (this.#isGone) return sink.gone()
    this.#body = sink
    // The client may wait for this line before it sends the body.
    if (this.#request?.head.expectation !== undefined && !this.#request.response.hasBegun)
      this.socket.write(CONTINUE)
    this.socket.resume()
  }

  // Only responses call the following methods.

  /** The bytes that the system has not accepted. */
  get unsentBytes(): number {
    return this.socket.writableLength
  }

  /** The fields about the connection, each with its line end. `closes`: the connection must end. */
  begin(closes: boolean): string {
    const keepsAlive = this.#request?.head.keepsAlive === true && this.#reader.isWhole
    if (closes || !keepsAlive || this.#server.isDraining) this.#isLast = true
    const date = new Date(this.#server.environment.wallNow()).toUTCString()
    return `date: ${date}\r\n${this.#isLast ? CLOSES : ''}`
  }

  write(pieces: readonly Uint8Array[]): void {
    if (!this.#isGone) writeAll(this.socket, pieces, this.#written)
  }

  ended(): void {
    if (this.unsentBytes === 0) this.#finish()
    else this.cutWhenStalled()
  }

  endLast(end: () => void): boolean {
    return this.#server.endLast(end)
  }

  cut(): void {
    this.socket.destroy()
    this.#leave()
  }

  /** Cuts the connection if the client reads nothing for this time, or for up to twice as long. */
  cutWhenStalled(): void {
    this.socket.setTimeout?.(this.#server.environment.limits.stallMs)
  }

  // MessageSink

  head(head: RequestHead, body: Buffer | undefined): void {
    const response = new HttpResponse(this, head)
    this.#request = { head, response }
    if (body !== undefined) this.#server.requestRead(this)
    this.#server.serve({ wire: this, head, body, response })
  }

  data(chunk: Buffer): void {
    this.#body?.data(chunk)
  }

  /** Whether there is no request, and no byte of one has arrived. */
  get #isIdle(): boolean {
    return this.#request === undefined && this.#reader.isResting && !this.socket.isPaused()
  }

  /** Ends the connection in order: written bytes are still sent. */
  #close(): void {
    this.#isLast = true
    this.socket.end(() => this.socket.destroy())
  }

  /** Reads bytes while they have a reader. Bytes after an answered request wait for another turn. */
  #take(chunk: Buffer): void {
    if (this.#isGone) return
    const wasIdle = this.#isIdle
    const served = this.#served
    let rest = chunk
    try {
      while (rest.length > 0 && this.#wants && this.#served === served) rest = this.#takeSome(rest)
    } catch (error) {
      return this.#failed(error)
    }
    // An empty line does not restart the idle time, or a client could stay for ever.
    if (wasIdle && !this.#isIdle) this.#sinceMs = this.#server.environment.now()
    if (this.#reader.isWhole) rest = this.#reader.take(rest, this)
    if (rest.length === 0 || this.#isGone) return
    this.socket.pause()
    this.socket.unshift(rest)
    if (this.#wants) setImmediate(() => this.socket.resume())
  }

  get #wants(): boolean {
    if (this.#isGone || this.#reader.isWhole) return false
    return this.#reader.isInBody ? this.#body !== undefined : !this.#isLast && this.#request === undefined
  }

  #takeSome(bytes: Buffer): Buffer {
    const rest = this.#reader.take(bytes, this)
    if (!this.#reader.isWhole || this.#body === undefined) return rest
    const body = this.#body
    this.#body = undefined
    this.#server.requestRead(this)
    body.end()
    return rest
  }

  /** The input is no request, or reading it failed. */
  #failed(error: unknown): void {
    if (error instanceof HttpSyntaxError) return this.refuse(error.code === 'TOO_LONG' ? 431 : 400)
    this.#server.environment.failed(error)
    this.cut()
  }

  readonly #written = (): void => {
    if (this.unsentBytes === 0 && this.#request?.response.hasEnded === true) this.#finish()
  }

  #finish(): void {
    const request = this.#request
    this.#request = undefined
    this.socket.setTimeout?.(0)
    request?.response.close()
    if (this.#isGone) return
    if (!this.#reader.isWhole) return this.#dropBody()
    if (this.#isLast) return this.#close()
    this.#sinceMs = this.#server.environment.now()
    this.#served++
    this.#reader.next()
    this.socket.resume()
  }

  /** Reads and drops the remaining bytes of a body. An earlier close could lose the answer. */
  #dropBody(): void {
    this.#linger()
    this.readBody({ data: () => {}, end: () => this.#close(), gone: () => {} })
  }

  #linger(): void {
    const { environment } = this.#server
    this.#lingering = environment.setTimer(environment.limits.refusedBodyMs, () => this.socket.destroy())
  }

  #leave(): void {
    if (this.#isGone) return
    this.#isGone = true
    this.#body?.gone()
    this.#body = undefined
    this.#request?.response.close()
    // Further input is read and dropped, so that the end of the connection is noticed.
    this.socket.resume()
  }
}
