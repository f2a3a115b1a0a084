// One connection to a server, for one exchange at a time.
//
// It is used again only where nothing is left over on either side: the request has
// left whole, the response has come whole, and no byte came behind it, which would
// be taken for the next answer.

import { Buffer } from 'node:buffer'
import type { Duplex } from 'node:stream'
import { ReadThrottle } from '../../runtime/read-throttle.js'
import type { SocketPlace } from '../../runtime/runtime.js'
import { behind, writeAll } from './bytes.js'
import type { HttpAgent } from './client.js'
import type { HeaderFields } from './grammar.js'
import type { MessageSink } from './reader.js'
import { type ResponseHead, responseReader } from './response-head.js'
import { asError } from './trouble.js'

/** A socket; what only real ones have may be missing. */
export type HttpSocket = Duplex & {
  readonly connecting?: boolean
  setTimeout?(ms: number): unknown
  ref?(): unknown
  unref?(): unknown
}

/**
 * Makes a socket: at once, or when there is a way to the server.
 *
 * A socket for TLS emits `secureConnect` when it is ready, any other `connect` if it is `connecting`; one that is promised is ready.
 */
export type Dial = (to: SocketPlace, signal: AbortSignal) => HttpSocket | Promise<HttpSocket>

/** The owner of a connection during one exchange. `responded` or `failed` is called once. */
export interface ClientSocketUser {
  /** Its connection, immediately or when its turn has come. */
  gets(channel: ClientSocket): void
  /** There is a connection to send on. */
  connected(): void
  /** The system has taken the whole request. */
  sent(): void
  responded(answer: HttpAnswer): void
  /** There will be no response. */
  failed(error: Error): void
}

/** How a connection has ended; `isWhole` when the server has closed it in order. */
interface End {
  readonly isWhole: boolean
  readonly error?: Error
}

/** A server that names the time for which it keeps a connection may close it a little sooner. */
const REST_MARGIN_MS = 1000
/** A shorter read ends the turn of its connection by itself; one record of TLS has so many bytes. */
const LARGE_READ_BYTES = 16 * 1024

const NOTHING = Buffer.alloc(0)

/** One socket and what is asked on it. */
export class ClientSocket implements MessageSink<ResponseHead> {
  #isPaused = false
  readonly #agent: HttpAgent
  readonly #dialing = new AbortController()
  #socket: HttpSocket | undefined
  readonly #reader = responseReader()
  #throttle: ReadThrottle | undefined
  /** Pieces of the present read. */
  #pieces = 0
  #user: ClientSocketUser | undefined
  /** The request, while there is no socket. */
  #unsent: readonly Uint8Array[] = []
  #answer: HttpAnswer | undefined
  #isConnected = false
  /** No more of the answer is needed. */
  #isSpare = false
  #isSent = true
  /** Whether the connection may be used again after the response. */
  #keepsAlive = false
  #restMs: number
  /** Its time ran out while it was in use, and has to be set anew. */
  #isOverdue = false
  /** Bytes that came while reading was off. */
  #rest: Buffer = NOTHING
  #isTaking = false
  /** Set when nothing more can come. */
  #end: End | undefined
  #gone = false

  constructor(dial: Dial, to: SocketPlace, restMs: number, agent: HttpAgent) {
    this.#agent = agent
    this.#restMs = restMs
    const dialed = dial(to, this.#dialing.signal)
    if (dialed instanceof Promise) {
      dialed.then(
        (socket) => this.#opens(socket),
        (error: unknown) => this.close(asError(error)),
      )
      return
    }
    this.#attach(dialed)
    if (to.isTls) dialed.once('secureConnect', () => this.#connects())
    else if (dialed.connecting === true) dialed.once('connect', () => this.#connects())
    else this.#isConnected = true
  }

  get isConnected(): boolean {
    return this.#isConnected
  }

  /** Sends a request; `user` is called with everything that happens to it. */
  send(head: string, body: Uint8Array | undefined, user: ClientSocketUser): void {
    this.#user = user
    this.#isSpare = false
    this.#isSent = false
    this.#reader.next()
    this.#unsent = behind(head, body === undefined ? [] : [body])
    if (this.#socket !== undefined) this.#write(this.#socket)
  }

  /** Shortens the idle time; the server knows best for how long it keeps a connection. */
  #restAtMost(ms: number): void {
    if (ms >= this.#restMs) return
    this.#restMs = ms
    if (ms > 0) this.#socket?.setTimeout?.(ms)
  }

  /** Stops or goes on reading the answer. */
  read(on: boolean): void {
    if (this.#isPaused !== on) return
    this.#isPaused = !on
    this.#throttle?.want(on)
    if (!on) return
    // Later: a caller that resumes several channels may stop all of them at the first message.
    if (this.#user !== undefined) queueMicrotask(() => this.#goOn())
  }

  /** The reader of the body has taken so many pieces, such as lines of an event stream. */
  worked(pieces: number): void {
    this.#pieces += pieces
  }

  /** The answer may still end in order, so that the connection can be used again, but nothing waits for that. */
  spare(): void {
    this.#isSpare = true
    this.#beginRest()
  }

  /** Gives up the request of this user; does nothing when the connection has another user. */
  leave(user: ClientSocketUser): void {
    if (user === this.#user) this.drop()
  }

  /** Closes it without telling its user anything more. */
  drop(): void {
    const answer = this.#answer
    this.#user = undefined
    this.#answer = undefined
    this.close()
    answer?.ended('dropped')
  }

  /** Closes it for good. */
  close(error?: Error): void {
    if (this.#gone) return
    this.#gone = true
    const user = this.#user
    const answer = this.#answer
    this.#user = undefined
    this.#answer = undefined
    this.#dialing.abort()
    this.#socket?.destroy()
    this.#agent.gone(this)
    if (answer !== undefined) answer.ended('cut', error)
    else user?.failed(error ?? hangup())
  }

  // MessageSink

  head(head: ResponseHead): void {
    const { restMs } = head
    this.#keepsAlive = head.keepsAlive
    if (restMs !== undefined) this.#restAtMost(restMs - REST_MARGIN_MS)
    const answer = new HttpAnswer(head, this)
    this.#answer = answer
    this.#user?.responded(answer)
  }

  data(chunk: Buffer): void {
    this.#pieces++
    this.#answer?.data(chunk)
  }

  #attach(socket: HttpSocket): void {
    const throttle = new ReadThrottle(socket)
    this.#socket = socket
    this.#throttle = throttle
    socket.on('data', (chunk: Buffer) => {
      this.#pieces = 0
      this.#take(chunk)
      if (chunk.length >= LARGE_READ_BYTES) throttle.worked(this.#pieces)
    })
    socket.on('end', () => this.#ends({ isWhole: true }))
    socket.on('timeout', () => {
      if (this.#user === undefined || this.#isSpare) this.drop()
      else this.#isOverdue = true
    })
    socket.on('error', (error: Error) => this.#ends({ isWhole: false, error }))
    socket.on('close', () => this.#ends({ isWhole: false }))
    // Any byte on it begins the time anew, so that it need not be set for each rest.
    socket.setTimeout?.(this.#restMs)
  }

  /** The promised socket is there. */
  #opens(socket: HttpSocket): void {
    if (this.#gone) return void socket.destroy()
    this.#attach(socket)
    if (socket.destroyed) return this.close()
    this.#connects()
    this.#write(socket)
  }

  #write(socket: HttpSocket): void {
    const pieces = this.#unsent
    this.#unsent = []
    socket.ref?.()
    writeAll(socket, pieces, (error) => {
      if (!error) this.#sent()
    })
  }

  #connects(): void {
    this.#isConnected = true
    this.#user?.connected()
  }

  #sent(): void {
    this.#isSent = true
    if (this.#user !== undefined) this.#user.sent()
    else if (!this.#gone) this.#agent.rests(this)
  }

  #take(chunk: Buffer): void {
    // Bytes without a request would be taken for the next answer.
    if (this.#user === undefined) return this.close()
    let rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    this.#isTaking = true
    try {
      while (rest.length > 0 && !this.#isPaused && !this.#reader.isWhole) rest = this.#reader.take(rest, this)
    } catch (error) {
      return this.close(asError(error))
    } finally {
      this.#rest = rest
      this.#isTaking = false
    }
    if (this.#reader.isWhole && !this.#isPaused && !this.#gone) this.#finish(this.#keepsAlive)
  }

  #ends(end: End): void {
    this.#end ??= end
    this.#goOn()
  }

  /** Takes the waiting bytes and then the end of the connection, unless reading was turned off again. */
  #goOn(): void {
    if (this.#user !== undefined && !this.#isPaused && !this.#isTaking) this.#take(NOTHING)
    if (this.#end === undefined || (this.#user !== undefined && this.#isPaused)) return
    const { isWhole, error } = this.#end
    if (isWhole && this.#user !== undefined && this.#reader.endsWithConnection) return this.#finish(false)
    this.close(error)
  }

  #finish(keepsAlive: boolean): void {
    this.#user = undefined
    // The reader may still drop it when the body was no answer.
    this.#answer?.ended('whole')
    if (this.#gone) return
    this.#answer = undefined
    const isLast = !keepsAlive || this.#end !== undefined || this.#restMs <= 0
    if (isLast || this.#rest.length > 0) return this.close()
    this.read(true)
    this.#beginRest()
    // An answer may come before the whole request has left.
    if (this.#isSent) this.#agent.rests(this)
  }

  /** An idle socket must not keep the process alive. Its idle timer restarts if it expired during the exchange. */
  #beginRest(): void {
    this.#socket?.unref?.()
    if (this.#isOverdue) this.#socket?.setTimeout?.(this.#restMs)
    this.#isOverdue = false
  }
}

/** The reader of a body. `end` or `cut` is called once, unless the answer is dropped before. */
export interface BodyConsumer {
  data(chunk: Buffer): void
  /** The body was whole. */
  end(): void
  /** The connection ended before the body did, or the body cannot be read on, which `error` is about. */
  cut(error?: Error): void
}

/** A response; its body goes to its reader, or is dropped. */
export class HttpAnswer {
  readonly status: number
  readonly #fields: HeaderFields
  /** Undefined when the connection may be another's. */
  #source: ClientSocket | undefined
  #reader: BodyConsumer | undefined
  #closed: (() => void) | undefined
  #bytes = 0

  constructor(head: ResponseHead, source: ClientSocket) {
    this.#fields = head.fields
    this.status = head.status
    this.#source = source
  }

  /** Of the body, so far. */
  get bytes(): number {
    return this.#bytes
  }

  /** The first field of this name, which is in lower case. */
  get(name: string): string | undefined {
    return this.#fields.get(name)
  }

  /** Every field of this name. */
  all(name: string): readonly string[] {
    return this.#fields.all(name)
  }

  /** Sets the reader of the body; a reader that is set together with the head gets all of it. */
  readBy(reader: BodyConsumer): void {
    this.#reader = reader
  }

  /** Stops or goes on reading; what has come meanwhile waits. */
  read(on: boolean): void {
    this.#source?.read(on)
  }

  /** Counts pieces of the body, such as lines of an event stream, as work of this turn. */
  worked(pieces: number): void {
    this.#source?.worked(pieces)
  }

  /** No more of the body is needed: it keeps neither its connection for long nor the process. */
  spare(): void {
    this.#source?.spare()
  }

  /** Closes the connection of the response; its reader is not called any more. */
  drop(): void {
    this.#reader = undefined
    this.#source?.drop()
  }

  /** Calls `closed` when the response has ended, whole or not. */
  whenClosed(closed: () => void): void {
    if (this.#source === undefined) closed()
    else this.#closed = closed
  }

  // For the connection to call.

  data(chunk: Buffer): void {
    this.#bytes += chunk.length
    this.#reader?.data(chunk)
  }

  ended(how: 'whole' | 'cut' | 'dropped', error?: Error): void {
    if (how === 'whole') this.#reader?.end()
    else if (how === 'cut') this.#reader?.cut(error)
    this.#source = undefined
    const closed = this.#closed
    this.#closed = undefined
    closed?.()
  }
}

function hangup(): Error {
  return Object.assign(new Error('the connection was cut before an answer'), { code: 'ECONNRESET' })
}
