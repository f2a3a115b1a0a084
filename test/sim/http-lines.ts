// The connections of one client over HTTP.

import { type Asked, HttpLine, type LineOwner } from './http-line.js'
import type { Random } from './random.js'
import type { SimSocket, SocketScript } from './socket.js'

/** Uses a connection again where one is free, and opens one where none is. */
export class HttpLines implements LineOwner {
  readonly bad: (what: string) => void
  readonly #connect: (script: SocketScript, number: number) => SimSocket
  readonly #lines = new Set<HttpLine>()
  readonly #sockets: SimSocket[] = []
  #isPaused = false
  #wasPaused = false

  constructor(connect: (script: SocketScript, number: number) => SimSocket, bad: (what: string) => void) {
    this.#connect = connect
    this.bad = bad
  }

  /** Bytes that the proxy keeps for them. */
  get backlogBytes(): number {
    return this.#sockets.reduce((sum, socket) => sum + (socket.destroyed ? 0 : socket.writableLength), 0)
  }

  /** The client has not read for a while. */
  get wasPaused(): boolean {
    return this.#wasPaused
  }

  get released(): boolean {
    return this.#sockets.every(({ destroyed }) => destroyed)
  }

  ask(text: string, asked: Asked): HttpLine {
    const line = [...this.#lines].find(({ idle }) => idle) ?? new HttpLine(this)
    this.#lines.add(line)
    line.ask(text, asked)
    return line
  }

  read(on: boolean): void {
    this.#isPaused = !on
    this.#wasPaused ||= !on
    for (const { socket } of this.#lines) socket.reads(on)
  }

  /** Most are lost, those that are used more than others. */
  cut(random: Random): void {
    for (const line of this.#lines)
      if (random.chance(line.idle ? 0.2 : 0.8)) line.cut(random.pick(['reset', 'close']))
  }

  /** Keeps so many that carry nothing. */
  closeIdle(kept: number): void {
    const idle = [...this.#lines].filter((line) => line.idle)
    for (const line of idle.slice(kept)) line.cut('close')
  }

  leave(how: 'reset' | 'close'): void {
    for (const line of this.#lines) line.cut(how)
  }

  connect(script: SocketScript): SimSocket {
    const socket = this.#connect(script, this.#sockets.length + 1)
    this.#sockets.push(socket)
    if (this.#isPaused) socket.reads(false)
    return socket
  }

  closed(line: HttpLine): void {
    this.#lines.delete(line)
  }
}
