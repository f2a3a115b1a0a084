// HTTP as a scripted server speaks it: requests out of bytes, and responses that
// may be broken anywhere.

import type { FlowSink } from './byte-flow.js'
import type { SimSocket } from './socket.js'

/** One request, and the response to it. */
export class SimExchange {
  readonly method: string
  readonly headers: ReadonlyMap<string, string>
  readonly body: string
  readonly socket: SimSocket
  #stage: 'open' | 'streaming' | 'done' = 'open'

  constructor(socket: SimSocket, head: string, body: string) {
    const [first = '', ...lines] = head.split('\r\n')
    this.socket = socket
    this.method = first.split(' ')[0] ?? ''
    this.headers = new Map(
      lines.map((line) => {
        const colon = line.indexOf(':')
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
      }),
    )
    this.body = body
  }

  /** Nothing of the response has left. */
  get fresh(): boolean {
    return this.#stage === 'open'
  }

  get done(): boolean {
    return this.#stage === 'done' || this.socket.destroyed
  }

  /** The server has said all that it will say. */
  get isOver(): boolean {
    return this.#stage === 'done'
  }

  /** A whole response. */
  respond(status: number, headers: readonly string[], body: string): void {
    if (this.done) return
    this.#stage = 'done'
    this.socket.say(`${headOf(status, [...headers, `Content-Length: ${Buffer.byteLength(body)}`])}${body}`)
  }

  /** Begins a stream of events where there is none, and adds one. */
  event(headers: readonly string[], data: string): void {
    this.open(headers)
    if (!this.done) this.socket.say(chunked(`data: ${data}\n\n`))
  }

  open(headers: readonly string[]): void {
    if (!this.fresh || this.done) return
    this.#stage = 'streaming'
    const all = [...headers, 'Content-Type: text/event-stream', 'Transfer-Encoding: chunked']
    this.socket.say(headOf(200, all))
  }

  /** Ends a stream of events. */
  finish(): void {
    if (this.done) return
    this.#stage = 'done'
    this.socket.say('0\r\n\r\n')
  }

  /** Writes this much and cuts the connection behind it. */
  cut(bytes: string): void {
    if (this.done) return
    this.#stage = 'done'
    this.socket.say(bytes)
    this.socket.resetBehind()
  }
}

/** Calls `request` with each request of a connection. */
export class RequestReader implements FlowSink {
  readonly #request: (head: string, body: string) => void
  readonly #ended: () => void
  #bytes: Buffer = Buffer.alloc(0)

  constructor(request: (head: string, body: string) => void, ended: () => void) {
    this.#request = request
    this.#ended = ended
  }

  bytes(chunk: Buffer): void {
    this.#bytes = this.#bytes.length === 0 ? chunk : Buffer.concat([this.#bytes, chunk])
    for (;;) {
      const end = this.#bytes.indexOf('\r\n\r\n')
      if (end < 0) return
      const head = this.#bytes.toString('latin1', 0, end)
      const length = Number(/content-length: *(\d+)/i.exec(head)?.[1] ?? 0)
      const from = end + 4
      if (this.#bytes.length < from + length) return
      const body = this.#bytes.toString('utf8', from, from + length)
      this.#bytes = this.#bytes.subarray(from + length)
      this.#request(head, body)
    }
  }

  end(): void {
    this.#ended()
  }
}

export function headOf(status: number, headers: readonly string[]): string {
  return `${[`HTTP/1.1 ${status} Simulated`, ...headers].join('\r\n')}\r\n\r\n`
}

export function chunked(text: string): string {
  return `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`
}
