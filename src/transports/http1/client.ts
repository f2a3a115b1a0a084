// The connections to one server, kept alive between requests.
//
// Each upstream has a separate agent, so no connection carries two sets of credentials. The last used
// connection is used first, so that surplus ones time out. A connection is used again only if nothing is left
// over on either side: the request is sent completely, the response is complete, and no byte followed it.
// Such a byte would count as the next answer.

import type { Buffer } from 'node:buffer'
import { ReadThrottle } from '../../runtime/read-throttle.js'
import type { SocketPlace } from '../../runtime/runtime.js'
import { hostAndPort } from '../address.js'
import { withHead, type HttpSocket, writeAll } from './bytes.js'
import { type Dial, opened } from './dial.js'
import type { HeaderFields, ResponseHead } from './head.js'
import { type MessageSink, responseReader } from './reader.js'
import { asError } from './trouble.js'

export { connectPlain, type Dial, dialFor, type TlsOptions } from './dial.js'
export { fieldLine } from './head.js'
export { SocketTroubleError, socketTrouble } from './trouble.js'

export interface HttpAgentLimits {
  readonly socketsMax: number
  readonly idleSocketMs: number
}

/** The owner of a connection during one exchange. Either `responded` or `failed` is called, once. */
export interface ClientSocketUser {
  responded(answer: HttpAnswer): void
  failed(error: Error): void
}

export class HttpAgent {
  readonly #place: SocketPlace
  readonly #dial: Dial
  readonly limits: HttpAgentLimits
  readonly #sockets = new Set<ClientSocket>()
  readonly #resting: ClientSocket[] = []
  #isDestroyed = false

  constructor(url: URL, limits: HttpAgentLimits, dial: Dial) {
    this.#place = { ...hostAndPort(url), isTls: url.protocol === 'https:' }
    this.limits = limits
    this.#dial = dial
  }

  /** Sends a request on the returned connection, which may not be connected yet. @throws Error if no connection is free */
  request(head: string, body: Uint8Array | undefined, user: ClientSocketUser): ClientSocket {
    if (this.#isDestroyed) throw new Error('the connections to the server have been closed')
    let socket = this.#resting.pop()
    if (socket === undefined) {
      const { socketsMax } = this.limits
      if (this.#sockets.size >= socketsMax) throw new Error(`all ${socketsMax} connections to it are in use`)
      socket = new ClientSocket(this.#dial, this.#place, this)
      this.#sockets.add(socket)
    }
    socket.send(head, body, user)
    return socket
  }

  /** Closes every connection, including those in use. The agent sends nothing more. */
  destroy(): void {
    this.#isDestroyed = true
    for (const socket of this.#sockets) socket.close()
  }

  /** The connection is free for another exchange. */
  release(socket: ClientSocket): void {
    this.#resting.push(socket)
  }

  onClosed(socket: ClientSocket): void {
    this.#sockets.delete(socket)
    const at = this.#resting.indexOf(socket)
    if (at >= 0) this.#resting.splice(at, 1)
  }
}

/** One connection to a server, for one exchange at a time. */
export class ClientSocket implements MessageSink<ResponseHead> {
  readonly #agent: HttpAgent
  readonly #dialing = new AbortController()
  readonly #reader = responseReader()
  #socket: HttpSocket | undefined
  #throttle: ReadThrottle | undefined
  #user: ClientSocketUser | undefined
  /** The request, until the socket is open. */
  #unsent: readonly Uint8Array[] = []
  #answer: HttpAnswer | undefined
  isConnected = false
  #isSent = true
  #isPaused = false
  #isClosed = false

  constructor(dial: Dial, to: SocketPlace, agent: HttpAgent) {
    this.#agent = agent
    this.#open(dial, to).catch((error: unknown) => this.close(asError(error)))
  }

  send(head: string, body: Uint8Array | undefined, user: ClientSocketUser): void {
    this.#user = user
    this.#isSent = false
    this.#reader.next()
    this.#unsent = withHead(head, body === undefined ? [] : [body])
    if (this.#socket !== undefined) this.#write(this.#socket)
  }

  /** Resumes or stops reading the answer. */
  read(on: boolean): void {
    if (this.#isPaused !== on) return
    this.#isPaused = !on
    this.#throttle?.setReading(on)
    // If the end of the answer arrived during the pause, no byte restarts the idle time.
    if (on) this.#socket?.setTimeout?.(this.#agent.limits.idleSocketMs)
  }

  /** Cancels the request of this user. Does nothing if the connection has another user. */
  leave(user: ClientSocketUser): void {
    if (user === this.#user) this.drop()
  }

  /** Closes the connection, and does not call its user again. */
  drop(): void {
    this.#user = undefined
    this.#answer = undefined
    this.close()
  }

  close(error?: Error): void {
    if (this.#isClosed) return
    this.#isClosed = true
    const user = this.#user
    const answer = this.#answer
    this.#user = undefined
    this.#answer = undefined
    this.#dialing.abort()
    this.#agent.onClosed(this)
    if (answer === undefined) user?.failed(error ?? hangup())
    else answer.ended(false, error)
  }

  // MessageSink

  head(head: ResponseHead): void {
    this.#answer = new HttpAnswer(head, this)
    this.#user?.responded(this.#answer)
  }

  data(chunk: Buffer): void {
    this.#answer?.reader?.data(chunk)
  }

  async #open(dial: Dial, to: SocketPlace): Promise<void> {
    const { signal } = this.#dialing
    const socket = await dial(to, signal)
    signal.addEventListener('abort', () => socket.destroy())
    if (signal.aborted) socket.destroy()
    socket.on('error', (error: Error) => this.close(error)).on('close', () => this.close())
    await opened(socket, to.isTls)
    this.#attach(socket)
    this.isConnected = true
    this.#write(socket)
  }

  #attach(socket: HttpSocket): void {
    const throttle = new ReadThrottle(socket)
    this.#socket = socket
    this.#throttle = throttle
    socket.on('data', (chunk: Buffer) => {
      this.#take(chunk)
      throttle.onRead(chunk)
    })
    socket.on('end', () => {
      if (this.#user !== undefined && this.#reader.endsWithConnection) this.#finish()
      this.close()
    })
    // Each byte in or out restarts this time.
    socket.setTimeout?.(this.#agent.limits.idleSocketMs)
    socket.on('timeout', () => {
      if (this.#user === undefined) this.close()
    })
  }

  #write(socket: HttpSocket): void {
    const pieces = this.#unsent
    this.#unsent = []
    socket.ref?.()
    writeAll(socket, pieces, (error) => {
      if (error) return
      this.#isSent = true
      if (this.#user === undefined && !this.#isClosed) this.#agent.release(this)
    })
  }

  #take(chunk: Buffer): void {
    // Bytes without a request would count as the next answer.
    if (this.#user === undefined) return this.close()
    let rest = chunk
    try {
      while (rest.length > 0 && !this.#isPaused && !this.#reader.isWhole) rest = this.#reader.take(rest, this)
    } catch (error) {
      return this.close(asError(error))
    }
    if (this.#isClosed) return
    if (this.#reader.isWhole) this.#finish(rest.length > 0)
    // Reading is paused, so the socket delivers these bytes again later.
    else if (rest.length > 0) this.#socket?.unshift(rest)
  }

  /** `isLast`: bytes followed the answer. */
  #finish(isLast = false): void {
    const answer = this.#answer
    this.#user = undefined
    // The reader of the body may still drop the connection, if the body was no answer.
    answer?.ended(true)
    if (this.#isClosed) return
    this.#answer = undefined
    if (isLast || answer?.head.keepsAlive !== true) return this.close()
    this.read(true)
    // An idle socket must not keep the process alive.
    this.#socket?.unref?.()
    // An answer may arrive before the whole request is sent.
    if (this.#isSent) this.#agent.release(this)
  }
}

/** The reader of a body. `end` or `cut` is called once, unless the answer is dropped earlier. */
export interface BodyConsumer {
  data(chunk: Buffer): void
  end(): void
  /** The connection ended before the body, or the body cannot be read further (`error`). */
  cut(error?: Error): void
}

/** A response. Without a reader, its body is dropped. */
export class HttpAnswer {
  readonly head: ResponseHead
  readonly status: number
  readonly fields: HeaderFields
  /** Undefined once another request may use the connection. */
  #source: ClientSocket | undefined
  /** If it is set together with the head, it gets the whole body. */
  reader: BodyConsumer | undefined

  constructor(head: ResponseHead, source: ClientSocket) {
    this.head = head
    this.status = head.status
    this.fields = head.fields
    this.#source = source
  }

  /** Resumes or stops reading. Bytes that arrive meanwhile wait. */
  read(on: boolean): void {
    this.#source?.read(on)
  }

  /** Closes the connection of the response, and does not call its reader again. */
  drop(): void {
    this.reader = undefined
    this.#source?.drop()
  }

  /** Only the connection calls this method. */
  ended(isWhole: boolean, error?: Error): void {
    if (isWhole) this.reader?.end()
    else this.reader?.cut(error)
    this.#source = undefined
  }
}

function hangup(): Error {
  return Object.assign(new Error('the connection was cut before an answer'), { code: 'ECONNRESET' })
}
