// Sockets that speak TLS; loaded when a server does.

import type { Buffer } from 'node:buffer'
import { type LookupFunction, isIP } from 'node:net'
import type { Duplex } from 'node:stream'
import { type SecureContext, type TLSSocket, connect, createSecureContext } from 'node:tls'
import { TCP_KEEP_ALIVE_MS } from './bytes.js'
import type { SocketPlace } from '../../runtime/runtime.js'
import { SocketTroubleError, asError } from './trouble.js'

/** Certificates and a key, as PEM. */
export interface TlsMaterial {
  /** The certificate authorities of servers, in place of the ones that the machine trusts. */
  readonly ca?: Buffer | undefined
  /** The certificate of the proxy. */
  readonly cert?: Buffer | undefined
  readonly key?: Buffer | undefined
}

/** The TLS options, in addition to the defaults of the machine. */
export interface TlsMeans {
  /** The name that is asked for, and that the certificate must have; undefined is the host. */
  readonly servername: string | undefined
  /** Reads the files anew. @throws SocketTroubleError when one cannot be read */
  material(): TlsMaterial
}

/** Makes sockets, to a place or over a connection that leads there. */
export type TlsConnect = (to: SocketPlace, over?: Duplex) => TLSSocket

/** Makes sockets that resume the last TLS session, which spares a round trip; `lookup` resolves names. */
export function tlsConnector(means?: TlsMeans, lookup?: LookupFunction): TlsConnect {
  let session: Buffer | undefined
  let context: SecureContext | undefined
  return ({ host, port }, over) => {
    if (means !== undefined) context ??= contextOf(means.material())
    const socket = connect({
      host,
      ...(over === undefined ? { port } : { socket: over }),
      ...(lookup !== undefined && { lookup }),
      ALPNProtocols: ['http/1.1'],
      ...servername(means?.servername ?? host),
      ...(context === undefined ? {} : { secureContext: context }),
      ...(session === undefined ? {} : { session }),
    })
    socket.setNoDelay(true)
    socket.setKeepAlive(true, TCP_KEEP_ALIVE_MS)
    socket.on('session', (next) => {
      session = next
    })
    // The next connection starts a new session and reads the certificates again: a refused session or an expired certificate
    // would fail it too.
    socket.on('error', () => {
      session = undefined
      context = undefined
    })
    return socket
  }
}

/** The name to ask for; an IP address is not sent as a name (RFC 6066, section 3). */
function servername(host: string): { servername?: string } {
  return isIP(host) === 0 ? { servername: host } : {}
}

/** @throws SocketTroubleError when a file holds nothing that can be used */
function contextOf(material: TlsMaterial): SecureContext {
  try {
    return createSecureContext(material)
  } catch (error) {
    const what = `a file of "tls" cannot be used: ${asError(error).message}`
    throw new SocketTroubleError({
      what,
      remedy: 'check the files that the configuration names',
      lasts: true,
    })
  }
}
