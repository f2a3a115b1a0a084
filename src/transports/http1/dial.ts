// Sockets to servers. TLS and proxies are loaded only when they are used.

import type { Buffer } from 'node:buffer'
import { type LookupFunction, type Socket, connect } from 'node:net'
import type { Connect, SocketPlace } from '../../runtime/runtime.js'
import { type HttpSocket, TCP_KEEP_ALIVE_MS } from './bytes.js'

/** Makes a socket that may still connect, immediately or once a tunnel to the server exists. */
export type Dial = (to: SocketPlace, signal: AbortSignal) => HttpSocket | Promise<HttpSocket>

/** TLS options that extend the defaults of the machine. */
export interface TlsOptions {
  /** The server name to request and to find in the certificate; undefined means the host. */
  readonly servername: string | undefined
  /** Reads the files, as PEM. `ca` replaces the authorities of the machine. @throws SocketTroubleError */
  material(): Readonly<Record<'ca' | 'cert' | 'key', Buffer | undefined>>
}

export interface DialRoute {
  /** Undefined reaches it directly. */
  readonly proxy?: URL | undefined
  readonly tls?: TlsOptions | undefined
  /** Resolves names instead of the machine, if no proxy does. */
  readonly lookup?: LookupFunction | undefined
  /** Makes the sockets instead of Node. */
  readonly connect?: Connect | undefined
}

export function connectPlain(to: SocketPlace): Socket {
  return connectTo(to, undefined)
}

function connectTo({ host, port }: SocketPlace, lookup: LookupFunction | undefined): Socket {
  const keepAlive = { noDelay: true, keepAlive: true, keepAliveInitialDelay: TCP_KEEP_ALIVE_MS }
  return connect({ host, port, ...keepAlive, ...(lookup !== undefined && { lookup }) })
}

/** Resolves when the socket is connected and, for TLS, encrypted. */
export async function opened(socket: HttpSocket, isTls: boolean): Promise<void> {
  if (!isTls && socket.connecting !== true && !socket.destroyed) return
  await new Promise<void>((resolve, reject) => {
    socket.once(isTls ? 'secureConnect' : 'connect', resolve)
    socket.on('error', reject)
    socket.on('close', () => reject(new Error('the connection was closed before it was open')))
  })
}

/** Resolves to the function that makes sockets for this address. */
export async function dialFor(
  url: URL,
  { proxy, tls, lookup, connect: given }: DialRoute = {},
): Promise<Dial> {
  if (proxy === undefined) return given ?? connectorFor(url, tls, lookup)
  const { tunnelDial, tlsConnector } = await import('./tls.js')
  const secure = url.protocol === 'https:' ? tlsConnector(tls) : undefined
  return tunnelDial(proxy, given ?? (await connectorFor(proxy)), secure)
}

async function connectorFor({ protocol }: URL, tls?: TlsOptions, lookup?: LookupFunction): Promise<Connect> {
  if (protocol !== 'https:') return (to) => connectTo(to, lookup)
  const { tlsConnector } = await import('./tls.js')
  const connectTls = tlsConnector(tls, lookup)
  return (to) => connectTls(to)
}
