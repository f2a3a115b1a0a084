// A simulated TCP connection, as Node's HTTP client or server sees it.

import { Duplex } from 'node:stream'
import type { Timer } from '../../src/runtime/runtime.js'
import { type SimContext, ByteFlow, type FlowShape, type FlowSink, systemError } from './byte-flow.js'

export type Connecting =
  | { readonly kind: 'connects' }
  | { readonly kind: 'fails'; readonly code: string; readonly message: string }
  /** TCP connects, and the TLS handshake fails. */
  | { readonly kind: 'fails-tls' }

export interface SocketScript extends FlowSink {
  /** The proxy writes, and no byte of it has arrived. */
  wrote?(): void
}

export interface SocketShape {
  readonly sent: FlowShape
  readonly received: FlowShape
  /** Bytes that the proxy wrote arrive even after it closes. Otherwise they are lost with the connection. */
  readonly lingers: boolean
}

export class SimSocket extends Duplex {
  readonly name: string
  /** Members that Node's HTTP client reads. */
  connecting = true
  timeout = 0
  readonly #context: SimContext
  readonly #sent: ByteFlow
  readonly #received: ByteFlow
  readonly #server: SocketScript
  readonly #lingers: boolean
  #isReset = false
  /** Bytes that the proxy has written in total. */
  taken = 0
  #said = 0
  readonly #marks: { readonly end: number; readonly arrived: () => void }[] = []
  /** Whether the server reads. No bytes arrive before the connection exists. */
  #isRead = true
  #blocked: ((error?: Error | null) => void) | undefined
  #idle: Timer | undefined

  constructor(context: SimContext, name: string, shape: SocketShape, server: SocketScript) {
    super({ allowHalfOpen: false })
    this.name = name
    this.#lingers = shape.lingers
    this.#context = context
    this.#server = server
    this.#sent = new ByteFlow(context, `${name}<`, shape.sent, {
      bytes: (chunk) => {
        server.bytes(chunk)
        if (shape.lingers) this.#used()
        this.#release()
      },
      end: () => server.end(),
    })
    this.#received = new ByteFlow(context, `${name}>`, shape.received, {
      bytes: (chunk) => {
        this.#used()
        if (!this.push(chunk)) this.#received.open(false)
        this.#arrived()
      },
      end: () => this.push(null),
    })
    this.#received.open(false)
    this.#sent.open(false)
  }

  connect(how: Connecting, isTls: boolean, delayMs: number): void {
    this.#context.clock.after(delayMs, () => {
      if (this.destroyed) return
      if (how.kind === 'fails') return void this.destroy(systemError(how.code, how.message))
      this.connecting = false
      this.emit('connect')
      if (how.kind === 'fails-tls')
        return void this.destroy(systemError('ERR_SSL_WRONG_VERSION_NUMBER', 'wrong version number'))
      if (isTls) this.emit('secureConnect')
      this.#sent.open(this.#isRead)
      this.#release()
    })
  }

  // The server's side.

  get unread(): number {
    return this.connecting ? 0 : this.#sent.bytes + this.writableLength
  }

  get unheard(): number {
    return this.#received.bytes
  }

  /** `arrived` is called when the proxy has received all of it. */
  say(bytes: string | Buffer, arrived?: () => void): void {
    const chunk = Buffer.from(bytes)
    this.#received.add(chunk)
    this.#said += chunk.length
    if (arrived !== undefined) this.#marks.push({ end: this.#said, arrived })
  }

  /** The server ends its output and stops reading. */
  finish(): void {
    this.#received.end()
  }

  /** Sends RST once the bytes on their way have arrived. */
  resetBehind(): void {
    this.#received.whenEmpty(() => this.reset())
  }

  reset(): void {
    this.#isReset = true
    this.#received.cut()
    this.#sent.cut()
    this.#context.trace.note(this.name, 'RST')
    this.destroy(systemError('ECONNRESET', 'read ECONNRESET'))
  }

  reads(on: boolean): void {
    this.#isRead = on
    if (!this.connecting) this.#sent.open(on)
  }

  // Methods that Node's HTTP client calls.

  readonly setKeepAlive: () => this = () => this
  readonly setNoDelay: () => this = () => this
  readonly ref: () => this = () => this
  readonly unref: () => this = () => this
  setTimeout(ms: number, fired?: () => void): this {
    this.timeout = ms
    if (fired !== undefined && ms > 0) this.once('timeout', fired)
    if (fired !== undefined && ms === 0) this.off('timeout', fired)
    this.#used()
    return this
  }

  destroySoon(): void {
    if (this.writable) this.end()
    if (this.writableFinished) this.destroy()
    else this.once('finish', () => this.destroy())
  }

  override _read(): void {
    this.#received.open(true)
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#used()
    this.taken += chunk.length
    this.#server.wrote?.()
    this.#sent.add(Buffer.from(chunk))
    if (!this.connecting && this.#sent.bytes <= CAPACITY) done()
    else this.#blocked = done
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#sent.end()
    done()
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#context.trace.note(this.name, `closed ${error?.message ?? ''}`)
    this.#idle?.cancel()
    this.#received.cut()
    if (this.#lingers && !this.#isReset && !this.connecting) this.#sent.end()
    else {
      this.#sent.cut()
      // The other end notices every kind of close.
      this.#context.clock.after(1, () => this.#server.end())
    }
    done(error)
  }

  #arrived(): void {
    const arrived = this.#said - this.#received.bytes
    while ((this.#marks[0]?.end ?? Infinity) <= arrived) this.#marks.shift()?.arrived()
  }

  #release(): void {
    if (this.#blocked === undefined || this.connecting || this.#sent.bytes > CAPACITY) return
    const done = this.#blocked
    this.#blocked = undefined
    done()
  }

  #used(): void {
    this.#idle?.cancel()
    this.#idle = undefined
    if (this.timeout === 0 || this.destroyed) return
    this.#idle = this.#context.clock.after(this.timeout, () => this.emit('timeout'), 'proxy')
  }
}

/** Bytes that the kernels at both ends buffer. */
const CAPACITY = 64 * 1024
