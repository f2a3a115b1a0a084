// The way out of one machine: its programs reach only the hosts that the configuration names.
//
// The machine has no route to the network. A program connects to a port of the machine's loopback, `way-out.ts`
// forwards the bytes to a socket of the service, and this proxy receives them. A program may forge all of them,
// or connect to the socket directly.

import { Buffer } from 'node:buffer'
import { type Server, createServer } from 'node:net'
import type { Duplex, Readable } from 'node:stream'
import { setDeadline, within } from '../../runtime/deadline.js'
import type { LogSink } from '../../runtime/runtime.js'
import {
  type Destination,
  EgressRefusal,
  hostName,
  isAllowed,
  proxyRequest,
  refusalResponse,
} from './allowed-hosts.js'
import { findHello } from './client-hello.js'
import { type EgressRuntime, dial } from './dial.js'

/** A port on the loopback of a separate network, where no other program listens. */
export const PROXY_PORT = 3128

/** Names of the machine itself, whose servers programs reach without the proxy. Python expects `[::1]`, others `::1`. */
const OWN_NAMES = 'localhost,127.0.0.1,0.0.0.0,::1,[::1],sandbox'

/**
 * Names the proxy in all spellings that programs read: curl wants small letters for http, others want capitals.
 *
 * `ALL_PROXY` is not set, because the proxy carries no other protocols. `NODE_USE_ENV_PROXY` makes Node.js read
 * these variables: `fetch` from versions 22.21 and 24.0, `node:http` and `node:https` from 22.21 and 24.5.
 */
export function proxyVariables(): Record<string, string> {
  const proxy = `http://127.0.0.1:${PROXY_PORT}`
  return {
    http_proxy: proxy,
    https_proxy: proxy,
    no_proxy: OWN_NAMES,
    HTTP_PROXY: proxy,
    HTTPS_PROXY: proxy,
    NO_PROXY: OWN_NAMES,
    NODE_USE_ENV_PROXY: '1',
  }
}

/** The most log lines about refusals within a minute. */
const LINES_MAX = 10

/** The most connections of a session to hosts within a minute. Each costs a DNS question and a port of the host. */
const DIALS_MAX = 600

const MINUTE_MS = 60_000

const CONNECTIONS_MAX = 64

export class Egress {
  /** The entries of the configuration. */
  readonly hosts: readonly string[]
  readonly runtime: EgressRuntime
  readonly #who: string
  readonly #log: LogSink
  readonly #connections = new Set<EgressConnection>()
  #minute = { beganMs: -Infinity, dials: 0, refusals: 0 }
  #server: Server | undefined
  #isOver = false

  /** `who` is the subject of log lines about refusals. */
  constructor(hosts: readonly string[], who: string, runtime: EgressRuntime, log: LogSink) {
    this.hosts = hosts
    this.runtime = runtime
    this.#who = who
    this.#log = log
  }

  listen(path: string): Promise<Server> {
    const server = createServer({ allowHalfOpen: true }, (program) => this.accept(program))
    this.#server = server
    return new Promise((resolve, reject) => {
      server.once('error', reject)
      server.listen(path, () => resolve(server))
    })
  }

  /** `program` is the connection of a program. Its two directions end independently. */
  accept(program: Duplex): void {
    if (this.#isOver || this.#connections.size >= CONNECTIONS_MAX) return void program.destroy()
    const connection = new EgressConnection(program, this)
    this.#connections.add(connection)
    program.once('close', () => this.#connections.delete(connection))
    void connection.serve()
  }

  end(): void {
    this.#isOver = true
    this.#server?.close()
    for (const connection of this.#connections) connection.close()
    this.#connections.clear()
  }

  /** Counts a connection that is about to be made. Returns false if too many were made. */
  mayDial(): boolean {
    return ++this.#thisMinute().dials <= DIALS_MAX
  }

  refused({ message: why, detail }: EgressRefusal): void {
    if (++this.#thisMinute().refusals > LINES_MAX) return
    const message = `${this.#who} was refused a connection: ${why}`
    this.#log({ level: 'warn', message, ...(detail !== undefined && { details: { detail } }) })
  }

  #thisMinute(): { dials: number; refusals: number } {
    const beganMs = this.runtime.now()
    if (beganMs - this.#minute.beganMs >= MINUTE_MS) this.#minute = { beganMs, dials: 0, refusals: 0 }
    return this.#minute
  }
}

const HEAD_BYTES_MAX = 16 * 1024

const TOO_LONG = `the request is not understood: its head is longer than ${HEAD_BYTES_MAX} bytes`

const END_OF_HEAD = '\r\n\r\n'

/** The time limit of the request, and of the first TLS message. Programs send both immediately. */
const ASK_MS = 30_000

/** The longest time without a byte in either direction. */
const IDLE_MS = 300_000

/** The longest time without a byte of the program after its tunnel has ended. Then its connection is closed. */
const LINGER_MS = 5000

const ESTABLISHED = 'HTTP/1.1 200 Connection established\r\n\r\n'

/** A TLS alert (RFC 8446, section 6): fatal, unrecognized name. */
const ALERT = Buffer.from([21, 3, 3, 0, 2, 2, 112])

class EgressConnection {
  readonly #program: Duplex
  readonly #egress: Egress
  readonly #life = new AbortController()
  #idleMs = IDLE_MS
  #timer: { cancel(): void } | undefined
  #server: Duplex | undefined

  constructor(program: Duplex, egress: Egress) {
    this.#program = program
    this.#egress = egress
    this.#touch()
    program.on('error', () => this.close())
    program.once('close', () => this.close())
  }

  /** Never rejects. Resolves when the tunnel is open or refused. */
  async serve(): Promise<void> {
    try {
      const request = await within(this.#request(), ASK_MS, this.#egress.runtime)
      if (request === undefined || this.#life.signal.aborted) return this.close()
      const server = await this.#reached(request)
      this.#attach(server)
      if (!this.#life.signal.aborted) await this.#tunnel(server, request)
    } catch (error) {
      if (error instanceof EgressRefusal && !this.#life.signal.aborted) this.#refuse(error)
      else this.close()
    }
  }

  close(): void {
    if (this.#life.signal.aborted) return
    this.#life.abort()
    this.#timer?.cancel()
    this.#server?.destroy()
    this.#program.destroy()
  }

  #touch(): void {
    this.#timer?.cancel()
    if (this.#life.signal.aborted) return
    this.#timer = setDeadline(this.#egress.runtime, this.#idleMs, () => this.close())
  }

  #request(): Promise<Destination | undefined> {
    return readUntil(this.#program, (bytes) => {
      const end = bytes.indexOf(END_OF_HEAD)
      if ((end === -1 ? bytes.length : end) > HEAD_BYTES_MAX) throw new EgressRefusal(431, TOO_LONG)
      if (end === -1) return undefined
      return [proxyRequest(bytes.toString('latin1', 0, end)), end + END_OF_HEAD.length]
    })
  }

  async #reached(to: Destination): Promise<Duplex> {
    const { hosts, runtime } = this.#egress
    if (!isAllowed(hosts, to)) throw new EgressRefusal(403, 'is not an allowed host', to)
    if (!this.#egress.mayDial())
      throw new EgressRefusal(503, 'has to wait: too many connections within a minute', to)
    return dial(to, runtime, this.#life.signal)
  }

  #attach(server: Duplex): void {
    this.#server = server
    if (server.destroyed) this.close()
    if (this.#life.signal.aborted) return void server.destroy()
    server.on('error', () => undefined)
    server.once('close', () => {
      // The program may not have received the last bytes of the server yet.
      if (this.#server === server && !server.readableEnded) this.close()
    })
  }

  async #tunnel(server: Duplex, to: Destination): Promise<void> {
    const program = this.#program
    program.write(ESTABLISHED)
    const first = readUntil(program, (bytes) => {
      const found = findHello(bytes)
      return found && [found, 0]
    })
    const hello = await within(first, ASK_MS, this.#egress.runtime)
    if (this.#life.signal.aborted) return
    program.on('data', () => this.#touch())
    program.once('finish', () => this.#linger())
    if (hello?.kind !== 'name' || hostName(hello.name) !== to.host) {
      const other = hello?.kind === 'none' ? hello.why : 'it names another server'
      const why = hello === undefined ? 'nothing came' : other
      this.#egress.refused(
        new EgressRefusal(403, `was asked for a tunnel without TLS for that name: ${why}`, to),
      )
      return void program.end(ALERT)
    }
    program.pipe(server)
    server.on('data', () => this.#touch())
    // The end of the server's output ends the connection, even if the program still sends.
    server.pipe(program)
  }

  /** Reads on: if the socket closed early, the port inside would lose bytes that the program has not read yet. */
  #linger(): void {
    if (this.#life.signal.aborted) return
    const [program, server] = [this.#program, this.#server]
    this.#server = undefined
    if (server !== undefined) program.unpipe(server)
    server?.destroy()
    this.#idleMs = LINGER_MS
    this.#touch()
    program.resume()
  }

  #refuse(refused: EgressRefusal): void {
    this.#egress.refused(refused)
    const program = this.#program
    // A program that still writes must not get a reset before it has read the reason.
    program.resume()
    program.once('finish', () => this.close())
    program.end(refusalResponse(refused, this.#egress.hosts))
  }
}

/**
 * `look` gets all bytes so far, and returns its finding and the count of bytes to remove from the stream.
 * Resolves with undefined if the stream ends without a finding. Rejects if the stream fails.
 */
async function readUntil<T>(
  input: Readable,
  look: (bytes: Buffer) => readonly [found: T, taken: number] | undefined,
): Promise<T | undefined> {
  let bytes: Buffer = Buffer.alloc(0)
  for await (const chunk of input.iterator({ destroyOnReturn: false })) {
    bytes = Buffer.concat([bytes, Buffer.from(chunk)])
    const [found, taken] = look(bytes) ?? []
    if (found === undefined) continue
    if (bytes.length > (taken ?? 0)) input.unshift(bytes.subarray(taken))
    return found
  }
  return undefined
}
