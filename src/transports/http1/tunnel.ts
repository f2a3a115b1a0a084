// Connections through a proxy, each asked for with CONNECT (RFC 9110, section 9.3.6).
//
// Servers without TLS are reached so too: a proxy that forwards requests would see their
// headers, and would write them anew. Only the head of the proxy's answer is read. Loaded where
// there is a proxy.

import type { Buffer } from 'node:buffer'
import { Duplex } from 'node:stream'
import { HeadReader } from './reader.js'
import { basicLogin, hostAndPort } from '../address.js'
import type { Connect, SocketPlace } from '../../runtime/runtime.js'
import type { HttpSocket } from './client-socket.js'
import { RESPONSE_HEAD_BYTES_MAX, ResponseHead } from './response-reader.js'
import { SocketTroubleError, asError } from './trouble.js'

/** Makes a connection that speaks TLS over another. */
export type Secure = (to: SocketPlace, over: Duplex) => HttpSocket

/** Makes sockets to where a proxy leads; `secure` is for places that speak TLS. */
export function tunnelConnector(proxy: URL, dial: Connect, secure: Secure | undefined): Connect {
  return (to) => new Tunnel(to, dial(placeOf(proxy)), proxy, secure).socket
}

function placeOf(proxy: URL): SocketPlace {
  return { ...hostAndPort(proxy), isTls: proxy.protocol === 'https:' }
}

/** One connection; what is written before the proxy has answered waits. */
class Tunnel {
  /** Behaves as a socket of Node's does. */
  readonly socket: HttpSocket
  readonly #to: SocketPlace
  readonly #proxy: URL
  readonly #secure: Secure | undefined
  readonly #head = new HeadReader(RESPONSE_HEAD_BYTES_MAX)
  /** To the proxy, and from the answer on to the server. */
  #inner: HttpSocket
  #isOpen = false
  #timeoutMs: number | undefined
  #waiting: (() => void) | undefined

  constructor(to: SocketPlace, inner: HttpSocket, proxy: URL, secure: Secure | undefined) {
    this.#to = to
    this.#inner = inner
    this.#proxy = proxy
    this.#secure = secure
    this.socket = this.#newSocket()
    this.#follow(inner)
    inner.on('data', this.#take)
    if (proxy.protocol === 'https:') inner.once('secureConnect', () => this.#ask())
    else if (inner.connecting === true) inner.once('connect', () => this.#ask())
    else this.#ask()
  }

  #newSocket(): HttpSocket {
    const duplex = new Duplex({
      read: () => {
        if (this.#isOpen) this.#inner.resume()
      },
      write: (chunk: Buffer, _encoding, done) => this.#whenOpen(() => this.#inner.write(chunk, done)),
      final: (done) => this.#whenOpen(() => this.#inner.end(done)),
      destroy: (error, done) => {
        this.#inner.destroy()
        done(error)
      },
    })
    return Object.assign(duplex, {
      connecting: true,
      setTimeout: (ms: number) => {
        this.#timeoutMs = ms
        this.#inner.setTimeout?.(ms)
      },
      ref: () => this.#inner.ref?.(),
      unref: () => this.#inner.unref?.(),
    })
  }

  #whenOpen(run: () => void): void {
    if (this.#isOpen) run()
    else this.#waiting = run
  }

  #follow(inner: HttpSocket): void {
    inner.on('error', (error: Error) => this.socket.destroy(error))
    inner.on('timeout', () => this.socket.emit('timeout'))
    inner.on('close', () => this.socket.destroy())
    inner.on('end', () => {
      if (this.#isOpen) this.socket.push(null)
      else this.#refuse('the proxy closed the connection instead of answering', false)
    })
  }

  #ask(): void {
    const { host, port } = this.#to
    const authority = `${host.includes(':') ? `[${host}]` : host}:${port}`
    const login = basicLogin(this.#proxy)
    const proof = login === undefined ? '' : `Proxy-Authorization: ${login}\r\n`
    this.#inner.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n${proof}\r\n`)
  }

  readonly #take = (chunk: Buffer): void => {
    const answer = this.#read(chunk)
    if (answer !== undefined) this.#answered(answer.head, answer.rest)
  }

  #read(chunk: Buffer): { readonly head: ResponseHead; readonly rest: Buffer } | undefined {
    try {
      const read = this.#head.take(chunk)
      if (read === undefined) return undefined
      return { head: new ResponseHead(read.bytes.toString('latin1', 0, read.length)), rest: read.rest }
    } catch (error) {
      this.#refuse(`the proxy answers something that is no HTTP: ${asError(error).message}`, true)
      return undefined
    }
  }

  #answered({ status }: ResponseHead, rest: Buffer): void {
    if (status < 200) return rest.length > 0 ? this.#take(rest) : undefined
    if (status >= 300) return this.#refused(status)
    // The server says nothing unasked, so these are not its words.
    if (rest.length > 0) return this.#refuse('the proxy sends more than its answer', true)
    this.#inner.off('data', this.#take)
    if (this.#secure === undefined) this.#opens('connect')
    else this.#encrypt(this.#secure)
  }

  #encrypt(secure: Secure): void {
    const over = this.#inner
    try {
      this.#inner = secure(this.#to, over)
    } catch (error) {
      // The files that TLS needs are ours, and no business of the proxy.
      return void this.socket.destroy(asError(error))
    }
    this.#follow(this.#inner)
    this.#inner.once('secureConnect', () => this.#opens('secureConnect'))
  }

  #opens(event: 'connect' | 'secureConnect'): void {
    this.#isOpen = true
    if (this.#timeoutMs !== undefined) this.#inner.setTimeout?.(this.#timeoutMs)
    this.#inner.on('data', (chunk: Buffer) => {
      if (!this.socket.push(chunk)) this.#inner.pause()
    })
    this.#waiting?.()
    this.#waiting = undefined
    Object.assign(this.socket, { connecting: false })
    this.socket.emit(event)
  }

  #refused(status: number): void {
    const lasts = status < 500 && status !== 408 && status !== 429
    const remedy =
      'check its address, with a login where it wants one (http://name:password@host:port), or except the server from it with NO_PROXY or "proxy": false'
    this.#refuse(`the proxy makes no connection to it (HTTP ${status})`, lasts, lasts ? remedy : undefined)
  }

  #refuse(what: string, lasts: boolean, remedy?: string): void {
    this.socket.destroy(new SocketTroubleError({ what, remedy, lasts }))
  }
}
