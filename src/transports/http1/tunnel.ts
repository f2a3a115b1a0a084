// Connections through a proxy, each asked for with CONNECT (RFC 9110, section 9.3.6).
//
// Servers without TLS are reached so too: a proxy that forwards requests would see their headers, and would write them anew.
// Only the head of the proxy's answer is read. Loaded where there is a proxy.

import type { Buffer } from 'node:buffer'
import type { Duplex } from 'node:stream'
import { basicLogin, hostAndPort } from '../address.js'
import type { Connect, SocketPlace } from '../../runtime/runtime.js'
import type { Dial, HttpSocket } from './client-socket.js'
import { type ResponseHead, responseReader } from './response-head.js'
import { SocketTroubleError, asError } from './trouble.js'

/** Makes a connection that speaks TLS over another. */
export type Secure = (to: SocketPlace, over: Duplex) => HttpSocket

/** Makes sockets to where a proxy leads; `secure` is for places that speak TLS. */
export function tunnelDial(proxy: URL, connect: Connect, secure: Secure | undefined): Dial {
  const isTls = proxy.protocol === 'https:'
  const place = { ...hostAndPort(proxy), isTls }
  return async (to, signal) => {
    const inner: HttpSocket = connect(place)
    signal.addEventListener('abort', () => inner.destroy())
    if (isTls || inner.connecting === true) await opened(inner, isTls ? 'secureConnect' : 'connect')
    await asked(inner, to, basicLogin(proxy))
    if (secure === undefined) return inner
    const outer = secure(to, inner)
    signal.addEventListener('abort', () => outer.destroy())
    await opened(outer, 'secureConnect')
    return outer
  }
}

function opened(socket: HttpSocket, event: 'connect' | 'secureConnect'): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once(event, resolve)
    socket.on('error', reject)
    socket.on('close', () => reject(refused('the connection was closed before it was open', false)))
  })
}

/** Asks the proxy for a tunnel; resolves when there is one. */
function asked(socket: HttpSocket, { host, port }: SocketPlace, login: string | undefined): Promise<void> {
  const authority = `${host.includes(':') ? `[${host}]` : host}:${port}`
  const proof = login === undefined ? '' : `Proxy-Authorization: ${login}\r\n`
  return new Promise((resolve, reject) => {
    const reader = responseReader()
    const answers: ResponseHead[] = []
    const take = (chunk: Buffer): void => {
      let rest = chunk
      try {
        while (rest.length > 0 && answers.length === 0)
          rest = reader.take(rest, { head: (head) => answers.push(head), data: () => undefined })
      } catch (error) {
        return reject(refused(`the proxy answers something that is no HTTP: ${asError(error).message}`, true))
      }
      const [answer] = answers
      if (answer === undefined) return
      socket.off('data', take)
      if (answer.status >= 300) return reject(noTunnel(answer.status))
      // The server says nothing unasked, so these are not its words.
      if (rest.length > 0) return reject(refused('the proxy sends more than its answer', true))
      resolve()
    }
    const ended = (): void => reject(refused('the proxy closed the connection instead of answering', false))
    socket.on('data', take).on('error', reject).on('end', ended).on('close', ended)
    socket.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n${proof}\r\n`)
  })
}

function noTunnel(status: number): SocketTroubleError {
  const lasts = status < 500 && status !== 408 && status !== 429
  const remedy =
    'check its address, with a login where it wants one (http://name:password@host:port), or except the server from it with NO_PROXY or "proxy": false'
  return refused(`the proxy makes no connection to it (HTTP ${status})`, lasts, lasts ? remedy : undefined)
}

function refused(what: string, lasts: boolean, remedy?: string): SocketTroubleError {
  return new SocketTroubleError({ what, remedy, lasts })
}
