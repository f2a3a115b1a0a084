// One connection of a program inside to the proxy, and the TLS tunnel that it becomes.

import { Buffer } from 'node:buffer'
import type { Duplex, Readable } from 'node:stream'
import { type Clock, setDeadline, within } from '../../runtime/deadline.js'
import { type AllowedHosts, hostName } from './allowed-hosts.js'
import { HelloReader } from './client-hello.js'
import { type EgressRuntime, dial } from './dial.js'
import {
  type Destination,
  type EgressRefusal,
  proxyRequest,
  refusal,
  refusalResponse,
} from './proxy-request.js'

const HEAD_BYTES_MAX = 16 * 1024

const TOO_LONG = `the request is not understood: its head is longer than ${HEAD_BYTES_MAX} bytes`

const END_OF_HEAD = '\r\n\r\n'

/** The time limit of the request, and of the first TLS message: programs send both immediately. */
const ASK_MS = 30_000

/** The same where the session has too many connections, for every request. */
const FULL_ASK_MS = 1000

/** The longest time without a byte in either direction. */
const IDLE_MS = 300_000

/** The longest time without a byte of a program whose tunnel is over, until its connection is closed. */
const LINGER_MS = 5000

const ESTABLISHED = 'HTTP/1.1 200 Connection established\r\n\r\n'

/** A TLS alert (RFC 8446, section 6): fatal, unrecognized name. */
const ALERT = Buffer.from([21, 3, 3, 0, 2, 2, 112])

export interface EgressTerms {
  readonly allowed: AllowedHosts
  readonly runtime: EgressRuntime
  /** Whether the session has too many connections. */
  readonly isFull: () => boolean
  /** Counts a connection before it is made; returns false when there were too many. */
  readonly mayDial: () => boolean
  /** Called with each refusal. */
  readonly refused: (refused: EgressRefusal) => void
}

export class EgressConnection {
  readonly #program: Duplex
  readonly #terms: EgressTerms
  readonly #life = new AbortController()
  #idle: IdleWatch
  #server: Duplex | undefined

  /** `program` is the connection of the program, whose two directions end apart. */
  constructor(program: Duplex, terms: EgressTerms) {
    this.#program = program
    this.#terms = terms
    this.#idle = new IdleWatch(terms.runtime, IDLE_MS, () => this.close())
    program.on('error', () => this.close())
    program.once('close', () => this.close())
  }

  /** Never rejects; resolves when the tunnel is open, or was refused. */
  async serve(): Promise<void> {
    try {
      const isFull = this.#terms.isFull()
      // The port inside that writes a request to a closed socket loses the refusal, so the request is read before.
      const request = await this.#asked(isFull ? FULL_ASK_MS : ASK_MS)
      if (this.#life.signal.aborted) return
      if (isFull) return this.#refuse(refusal(503, 'there are too many connections already'))
      if ('kind' in request) return this.#refuse(request)
      const server = await this.#reached(request)
      if ('kind' in server) return this.#life.signal.aborted ? undefined : this.#refuse(server)
      if (this.#attach(server)) await this.#tunnel(server, request)
    } catch {
      this.close()
    }
  }

  /** Ends both sides; idempotent. */
  close(): void {
    if (this.#life.signal.aborted) return
    this.#life.abort()
    this.#idle.stop()
    this.#server?.destroy()
    this.#program.destroy()
  }

  async #asked(waitMs: number): Promise<Destination | EgressRefusal> {
    let bytes: Buffer = Buffer.alloc(0)
    const look = (chunk: Buffer): Found<Destination | EgressRefusal> | undefined => {
      bytes = Buffer.concat([bytes, chunk])
      const end = bytes.indexOf(END_OF_HEAD)
      if ((end === -1 ? bytes.length : end) > HEAD_BYTES_MAX)
        return { found: refusal(431, TOO_LONG), rest: Buffer.alloc(0) }
      if (end === -1) return undefined
      return {
        found: proxyRequest(bytes.toString('latin1', 0, end)),
        rest: bytes.subarray(end + END_OF_HEAD.length),
      }
    }
    const found = await within(readUntil(this.#program, look), waitMs, this.#terms.runtime)
    if (bytes.length === 0) this.close()
    return found ?? refusal(408, 'the request did not come, or not whole')
  }

  async #reached(to: Destination): Promise<Duplex | EgressRefusal> {
    const { allowed, runtime, mayDial } = this.#terms
    if (!allowed.allows(to.host, to.port)) return refusal(403, 'is not an allowed host', to)
    if (!mayDial()) return refusal(503, 'has to wait: too many connections within a minute', to)
    return dial(to, runtime, this.#life.signal)
  }

  /** Returns false when the program is already gone. */
  #attach(server: Duplex): boolean {
    this.#server = server
    if (server.destroyed) this.close()
    if (this.#life.signal.aborted) {
      server.destroy()
      return false
    }
    server.on('error', () => undefined)
    server.once('close', () => {
      // The last bytes of the server may not have reached the program yet.
      if (this.#server === server && !server.readableEnded) this.close()
    })
    return true
  }

  async #tunnel(server: Duplex, to: Destination): Promise<void> {
    const program = this.#program
    program.write(ESTABLISHED)
    const reader = new HelloReader()
    const look = (chunk: Buffer): ReturnType<HelloReader['take']> => reader.take(chunk)
    const hello = await within(readUntil(program, look), ASK_MS, this.#terms.runtime)
    if (this.#life.signal.aborted) return
    program.on('data', () => this.#idle.touch())
    program.once('finish', () => this.#linger())
    if (hello?.kind !== 'name' || hostName(hello.name) !== to.host) {
      const why =
        hello === undefined ? 'nothing came' : hello.kind === 'none' ? hello.why : 'it names another server'
      this.#terms.refused(refusal(403, `was asked for a tunnel without TLS for that name: ${why}`, to))
      return void program.end(ALERT)
    }
    program.pipe(server)
    server.on('data', () => this.#idle.touch())
    // The end of the server's output ends the connection, even when the program still sends.
    server.pipe(program)
  }

  /** Reads what the program still sends: the port inside that writes to a closed socket loses what the program has not read. */
  #linger(): void {
    if (this.#life.signal.aborted) return
    const [program, server] = [this.#program, this.#server]
    this.#server = undefined
    if (server !== undefined) program.unpipe(server)
    server?.destroy()
    this.#idle.stop()
    this.#idle = new IdleWatch(this.#terms.runtime, LINGER_MS, () => this.close())
    program.resume()
  }

  #refuse(refused: EgressRefusal): void {
    this.#terms.refused(refused)
    const program = this.#program
    // A program that still writes must not be reset before it has read the reason.
    program.resume()
    program.once('finish', () => this.close())
    program.end(refusalResponse(refused, this.#terms.allowed))
  }
}

/** Calls `expire` after `idleMs` without a touch; the time starts with the constructor. */
export class IdleWatch {
  readonly #clock: Clock
  readonly #idleMs: number
  readonly #expire: () => void
  #touchedMs: number
  #timer: { cancel(): void }

  constructor(clock: Clock, idleMs: number, expire: () => void) {
    this.#clock = clock
    this.#idleMs = idleMs
    this.#expire = expire
    this.#touchedMs = clock.now()
    this.#timer = this.#wait(idleMs)
  }

  touch(): void {
    this.#touchedMs = this.#clock.now()
  }

  stop(): void {
    this.#timer.cancel()
  }

  #wait(delayMs: number): { cancel(): void } {
    return setDeadline(this.#clock, delayMs, () => {
      const leftMs = this.#touchedMs + this.#idleMs - this.#clock.now()
      if (leftMs <= 0) this.#expire()
      else this.#timer = this.#wait(leftMs)
    })
  }
}

/** The result of a search, and the bytes that return to the stream. */
interface Found<T> {
  readonly found: T
  readonly rest: Buffer
}

/** Resolves with undefined when the stream ends before a find; rejects when `look` throws. The stream is paused after that. */
function readUntil<T>(
  input: Readable,
  look: (chunk: Buffer) => Found<T> | undefined,
): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      input.off('data', take).off('end', none).off('close', none)
      input.pause()
    }
    const none = (): void => {
      stop()
      resolve(undefined)
    }
    const take = (chunk: Buffer): void => {
      try {
        const found = look(chunk)
        if (found === undefined) return
        stop()
        if (found.rest.length > 0) input.unshift(found.rest)
        resolve(found.found)
      } catch (error) {
        stop()
        reject(error)
      }
    }
    // The stream is paused when an earlier call has read from it.
    input.on('data', take).on('end', none).on('close', none).resume()
  })
}
