// One connection to a server, for one exchange at a time.
//
// It is used again only where nothing is left over on either side: the request has
// left whole, the response has come whole, and no byte came behind it, which would
// be taken for the next answer.

import { Buffer } from 'node:buffer'
import type { Duplex } from 'node:stream'
import { ReadThrottle } from '../../runtime/read-throttle.js'
import { behind, writeAll } from './bytes.js'
import type { HttpAgent } from './client.js'
import { HttpAnswer, type AnswerSource } from './answer.js'
import { type ResponseHead, ResponseReader, type ResponseSink } from './response-reader.js'
import { asError } from './trouble.js'

/** A socket; what only real ones have may be missing. */
export type HttpSocket = Duplex & {
  readonly connecting?: boolean
  setTimeout?(ms: number): unknown
  ref?(): unknown
  unref?(): unknown
}

/** The owner of a connection during one exchange. `responded` or `failed` is called once. */
export interface ChannelUser {
  /** Its connection, immediately or when its turn has come. */
  gets(channel: Channel): void
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
export class Channel implements AnswerSource, ResponseSink {
  paused = false
  readonly #socket: HttpSocket
  readonly #agent: HttpAgent
  readonly #reader = new ResponseReader(this)
  readonly #throttle: ReadThrottle
  /** Pieces of the present read. */
  #pieces = 0
  #user: ChannelUser | undefined
  #answer: HttpAnswer | undefined
  #isConnected = false
  /** No more of the answer is needed. */
  #isSpare = false
  #isSent = true
  /** Set when the response has come: whether the connection may be used again. */
  #keepsAlive: boolean | undefined
  #restMs: number
  /** Its time ran out while it was in use, and has to be set anew. */
  #isOverdue = false
  /** Bytes that came while reading was off. */
  #rest: Buffer = NOTHING
  #isTaking = false
  /** Set when nothing more can come. */
  #end: End | undefined
  #gone = false

  constructor(socket: HttpSocket, isTls: boolean, restMs: number, agent: HttpAgent) {
    this.#socket = socket
    this.#agent = agent
    this.#restMs = restMs
    this.#throttle = new ReadThrottle(socket)
    if (isTls) socket.once('secureConnect', () => this.#connects())
    else if (socket.connecting === true) socket.once('connect', () => this.#connects())
    else this.#isConnected = true
    socket.on('data', (chunk: Buffer) => {
      this.#pieces = 0
      this.#take(chunk)
      if (chunk.length >= LARGE_READ_BYTES) this.#throttle.worked(this.#pieces)
    })
    socket.on('end', () => this.#ends({ isWhole: true }))
    socket.on('timeout', () => {
      if (this.#user === undefined || this.#isSpare) this.drop()
      else this.#isOverdue = true
    })
    socket.on('error', (error: Error) => this.#ends({ isWhole: false, error }))
    socket.on('close', () => this.#ends({ isWhole: false }))
    // Any byte on it begins the time anew, so that it need not be set for each rest.
    socket.setTimeout?.(restMs)
  }

  get isConnected(): boolean {
    return this.#isConnected
  }

  /** Sends a request; `user` is called with everything that happens to it. */
  send(head: string, body: Uint8Array | undefined, user: ChannelUser): void {
    this.#user = user
    this.#isSpare = false
    this.#isSent = false
    this.#keepsAlive = undefined
    this.#reader.begin()
    this.#socket.ref?.()
    writeAll(this.#socket, behind(head, body === undefined ? [] : [body]), (error) => {
      if (!error) this.#sent()
    })
  }

  /** Shortens the idle time; the server knows best for how long it keeps a connection. */
  #restAtMost(ms: number): void {
    if (ms >= this.#restMs) return
    this.#restMs = ms
    if (ms > 0) this.#socket.setTimeout?.(ms)
  }

  /** Stops or goes on reading the answer. */
  read(on: boolean): void {
    if (this.paused !== on) return
    this.paused = !on
    this.#throttle.want(on)
    if (!on) return
    // Later: a caller that resumes several channels may stop all of them at the first message.
    if (this.#user !== undefined) queueMicrotask(() => this.#goOn())
  }

  worked(pieces: number): void {
    this.#pieces += pieces
  }

  /** The answer may still end in order, so that the connection can be used again, but nothing waits for that. */
  spare(): void {
    this.#isSpare = true
    this.#beginRest()
  }

  /** Gives up the request of this user; does nothing when the connection has another user. */
  leave(user: ChannelUser): void {
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
    this.#socket.destroy()
    this.#agent.gone(this)
    if (answer !== undefined) answer.ended('cut', error)
    else user?.failed(error ?? hangup())
  }

  // ResponseSink

  head(head: ResponseHead): void {
    const { restMs } = head
    if (restMs !== undefined) this.#restAtMost(restMs - REST_MARGIN_MS)
    const answer = new HttpAnswer(head, this)
    this.#answer = answer
    this.#user?.responded(answer)
  }

  data(chunk: Buffer): void {
    this.#pieces++
    this.#answer?.data(chunk)
  }

  end(keepsAlive: boolean): void {
    this.#keepsAlive = keepsAlive
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
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    this.#rest = NOTHING
    this.#isTaking = true
    try {
      this.#rest = this.#reader.push(bytes)
    } catch (error) {
      return this.close(asError(error))
    } finally {
      this.#isTaking = false
    }
    if (this.#keepsAlive !== undefined && !this.#gone) this.#finish(this.#keepsAlive)
  }

  #ends(end: End): void {
    this.#end ??= end
    this.#goOn()
  }

  /** Takes the waiting bytes and then the end of the connection, unless reading was turned off again. */
  #goOn(): void {
    if (this.#user !== undefined && !this.paused && !this.#isTaking) this.#take(NOTHING)
    if (this.#end === undefined || (this.#user !== undefined && this.paused)) return
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
    this.#socket.unref?.()
    if (this.#isOverdue) this.#socket.setTimeout?.(this.#restMs)
    this.#isOverdue = false
  }
}

function hangup(): Error {
  return Object.assign(new Error('the connection was cut before an answer'), { code: 'ECONNRESET' })
}
