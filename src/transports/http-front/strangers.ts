// Connections of which nobody knows yet whose they are.
//
// Where a token is asked for, a connection that has not shown one may come from
// anybody. Each address has only so many of them; for a new one the oldest makes
// room, so that whoever holds many open hurts nobody but itself.

import type { FrontSocket } from './request.js'

/** Counts connections until they have shown a token. */
export class Strangers {
  readonly #perAddressMax: number
  /** By address, the oldest first; and where each of them stands. */
  readonly #byAddress = new Map<string, Set<FrontSocket>>()
  readonly #of = new Map<FrontSocket, string>()

  constructor(perAddressMax: number) {
    this.#perAddressMax = perAddressMax
  }

  /** A new connection. */
  admit(socket: FrontSocket): void {
    const address = networkOf(socket.remoteAddress ?? '')
    const sockets = this.#byAddress.get(address) ?? new Set()
    const [oldest] = sockets
    if (oldest !== undefined && sockets.size >= this.#perAddressMax) {
      this.know(oldest)
      oldest.destroy()
    }
    this.#byAddress.set(address, sockets.add(socket))
    this.#of.set(socket, address)
    socket.once('close', () => this.know(socket))
  }

  /** It has shown a token, or is gone. */
  know(socket: FrontSocket): void {
    const address = this.#of.get(socket)
    if (address === undefined) return
    this.#of.delete(socket)
    const sockets = this.#byAddress.get(address)
    sockets?.delete(socket)
    if (sockets?.size === 0) this.#byAddress.delete(address)
  }
}

/** Who has one address of IPv6 has all of its network, which is the first half of it. */
export function networkOf(address: string): string {
  const [, mapped] = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address) ?? []
  if (mapped !== undefined || !address.includes(':')) return mapped ?? address
  const [head = '', tail] = address.split('::')
  const groups = head === '' ? [] : head.split(':')
  if (tail === undefined) return groups.slice(0, 4).join(':')
  const last = tail === '' ? [] : tail.split(':')
  const zeros = Array.from({ length: Math.max(0, 8 - groups.length - last.length) }, () => '0')
  return [...groups, ...zeros, ...last].slice(0, 4).join(':')
}
