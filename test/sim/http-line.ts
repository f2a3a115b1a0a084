// One connection of a client over HTTP, which carries one request at a time.

import { type AnswerHead, AnswerReader } from './answer-reader.js'
import type { SimSocket, SocketScript } from './socket.js'

/** One request that is under way. */
export interface Asked {
  /** All of it has got to the proxy. */
  arrived(): void
  /** The proxy says something about it. */
  answering(): void
  head(head: AnswerHead): void
  /** A piece of the body; `upTo` counts the bytes of the connection up to its end. */
  body(bytes: Buffer, upTo: number): void
  whole(): void
  /** The connection has ended before the answer was whole. */
  gone(): void
}

/** What a connection needs of its client. */
export interface LineOwner {
  connect(script: SocketScript): SimSocket
  /** It carries nothing more; called once. */
  closed(line: HttpLine): void
  /** What came is no answer. */
  bad(what: string): void
}

/** A connection that is used again and again. */
export class HttpLine implements SocketScript {
  readonly socket: SimSocket
  readonly #owner: LineOwner
  readonly #reader: AnswerReader
  #asked: Asked | undefined
  /** The proxy has said that it will close. */
  #isLast = false
  #isOver = false

  constructor(owner: LineOwner) {
    this.#owner = owner
    this.#reader = new AnswerReader({
      head: (head) => this.#head(head),
      body: (bytes, upTo) => this.#asked?.body(bytes, upTo),
      whole: () => this.#whole(),
      over: () => this.#over(),
      bad: (what) => owner.bad(what),
    })
    this.socket = owner.connect(this)
  }

  /** Nothing is under way, and something may be. */
  get idle(): boolean {
    return this.#asked === undefined && !this.#isLast && !this.#isOver
  }

  /** This is under way. */
  carries(asked: Asked): boolean {
    return this.#asked === asked
  }

  ask(text: string, asked: Asked): void {
    this.#asked = asked
    this.socket.say(text, () => asked.arrived())
  }

  /** Ends the connection from the client's side, with a last word to the system at the other end or without. */
  cut(how: 'reset' | 'close'): void {
    if (this.#isOver) return
    if (how === 'reset') this.socket.reset()
    else this.socket.finish()
    this.#over()
  }

  wrote(): void {
    this.#asked?.answering()
  }

  bytes(chunk: Buffer): void {
    if (!this.#isOver) this.#reader.bytes(chunk)
  }

  end(): void {
    this.#reader.end()
  }

  #head(head: AnswerHead): void {
    if (this.#asked === undefined) return this.#owner.bad(`${this.socket.name} is answered and has not asked`)
    this.#isLast ||= head.headers.get('connection') === 'close'
    this.#asked.head(head)
  }

  #whole(): void {
    const asked = this.#asked
    this.#asked = undefined
    asked?.whole()
    if (this.#isLast) this.#over()
  }

  #over(): void {
    if (this.#isOver) return
    this.#isOver = true
    if (!this.socket.destroyed) this.socket.finish()
    const asked = this.#asked
    this.#asked = undefined
    this.#owner.closed(this)
    asked?.gone()
  }
}
