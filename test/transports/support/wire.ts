import { once } from 'node:events'
import { type Socket, connect } from 'node:net'
import { until } from '../../integration/support/waiting.js'
import type { Scope } from './http.js'

/** A client connection that keeps all received bytes. */
export class Wire {
  readonly socket: Socket
  heard = ''
  isEnded = false

  constructor(scope: Scope, port: number, localAddress = '127.0.0.1') {
    this.socket = connect({ port, host: '127.0.0.1', localAddress })
    this.socket.on('data', (chunk: Buffer) => (this.heard += chunk.toString('latin1')))
    this.socket.on('error', () => undefined)
    this.socket.on('close', () => (this.isEnded = true))
    scope.after(() => void this.socket.destroy())
  }

  async connected(): Promise<this> {
    await once(this.socket, 'connect')
    return this
  }

  say(text: string): void {
    this.socket.write(text, 'latin1')
  }

  /** Resolves with all new bytes once they include this text. */
  async hears(text: string): Promise<string> {
    await until(() => this.heard.includes(text) || this.isEnded)
    const heard = this.heard
    this.heard = ''
    return heard
  }
}
