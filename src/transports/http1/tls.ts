// TLS sockets, and connections through a proxy with CONNECT (RFC 9110, section 9.3.6).
//
// CONNECT also reaches servers without TLS: a proxy that forwards requests would see their headers and
// rewrite them. Only the head of the proxy's answer is read.

import { type LookupFunction, isIP } from 'node:net'
import type { Duplex } from 'node:stream'
import { type SecureContext, type TLSSocket, connect, createSecureContext } from 'node:tls'
import type { Connect, SocketPlace } from '../../runtime/runtime.js'
import { basicLogin, hostAndPort } from '../address.js'
import { type HttpSocket, TCP_KEEP_ALIVE_MS } from './bytes.js'
import { type Dial, opened, type TlsOptions } from './dial.js'
import type { ResponseHead } from './head.js'
import { responseReader } from './reader.js'
import { SocketTroubleError, asError } from './trouble.js'

/** Makes TLS sockets, to a place or over a connection that leads there. */
type TlsConnect = (to: SocketPlace, over?: Duplex) => TLSSocket

/** Makes TLS sockets. Each reads the certificate files again, because they are renewed. `lookup` resolves names. */
export function tlsConnector(means?: TlsOptions, lookup?: LookupFunction): TlsConnect {
  return ({ host, port }, over) => {
    const name = means?.servername ?? host
    const socket = connect({
      host,
      ...(over === undefined ? { port } : { socket: over }),
      ...(lookup !== undefined && { lookup }),
      ALPNProtocols: ['http/1.1'],
      // An IP address is not sent as a server name (RFC 6066, section 3).
      ...(isIP(name) === 0 && { servername: name }),
      ...(means !== undefined && { secureContext: contextOf(means) }),
    })
    socket.setNoDelay(true)
    socket.setKeepAlive(true, TCP_KEEP_ALIVE_MS)
    return socket
  }
}

/** @throws SocketTroubleError if a file has no usable content */
function contextOf(means: TlsOptions): SecureContext {
  const material = means.material()
  try {
    return createSecureContext(material)
  } catch (error) {
    const what = `a file of "tls" cannot be used: ${asError(error).message}`
    throw new SocketTroubleError(what, 'check the files that the configuration names')
  }
}

/** Makes sockets through a proxy. `secure` adds TLS for servers that use it. */
export function tunnelDial(proxy: URL, connectProxy: Connect, secure: TlsConnect | undefined): Dial {
  const isTls = proxy.protocol === 'https:'
  const place = { ...hostAndPort(proxy), isTls }
  return async (to, signal) => {
    const inner: HttpSocket = connectProxy(place)
    signal.addEventListener('abort', () => inner.destroy())
    await opened(inner, isTls)
    await asked(inner, to, basicLogin(proxy))
    return secure?.(to, inner) ?? inner
  }
}

/** Requests a tunnel from the proxy, and resolves when it is open. */
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
        return reject(refused(`the proxy answers something that is no HTTP: ${asError(error).message}`))
      }
      const [answer] = answers
      if (answer === undefined) return
      socket.off('data', take)
      const { status } = answer
      const what = `the proxy makes no connection to it (HTTP ${status})`
      if (status >= 500 || status === 408 || status === 429) return reject(new SocketTroubleError(what))
      if (status >= 300) return reject(refused(what))
      // The server sends nothing before a request, so these bytes come from the proxy.
      if (rest.length > 0) return reject(refused('the proxy sends more than its answer'))
      resolve()
    }
    const ended = (): void => reject(new Error('the proxy closed the connection instead of answering'))
    socket.on('data', take).on('error', reject).on('end', ended).on('close', ended)
    socket.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n${proof}\r\n`)
  })
}

function refused(what: string): SocketTroubleError {
  return new SocketTroubleError(what, 'check the address and the login of the proxy, or set "proxy": false')
}
