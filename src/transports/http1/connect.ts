// Real sockets for the requests to a server.

import { type LookupFunction, type Socket, connect } from 'node:net'
import { TCP_KEEP_ALIVE_MS } from './bytes.js'
import type { Connect, SocketPlace } from '../../runtime/runtime.js'
import type { TlsMeans } from './connect-tls.js'

/** How a server is reached. */
export interface Way {
  /** Undefined reaches it directly. */
  readonly proxy?: URL | undefined
  /** The TLS options, in addition to the defaults of the machine. */
  readonly tls?: TlsMeans | undefined
  /** Resolves names in place of the machine, where no proxy does. */
  readonly lookup?: LookupFunction | undefined
  /** Makes the sockets in place of the machine. */
  readonly connect?: Connect | undefined
}

/** Makes plain sockets. */
export function connectPlain({ host, port }: SocketPlace, lookup?: LookupFunction): Socket {
  const keepAlive = { noDelay: true, keepAlive: true, keepAliveInitialDelay: TCP_KEEP_ALIVE_MS }
  return connect({ host, port, ...keepAlive, ...(lookup !== undefined && { lookup }) })
}

/** Resolves to the function that makes sockets for this address; TLS and tunnels are loaded only where they are used. */
export async function connectorFor(
  url: URL,
  { proxy, tls, lookup, connect: given }: Way = {},
): Promise<Connect> {
  if (proxy === undefined) return given ?? direct(url, tls, lookup)
  const { tunnelConnector } = await import('./tunnel.js')
  const dial = given ?? (await direct(proxy, undefined))
  return tunnelConnector(proxy, dial, url.protocol === 'https:' ? await secured(tls) : undefined)
}

function direct({ protocol }: URL, tls: TlsMeans | undefined, lookup?: LookupFunction): Promise<Connect> {
  return protocol === 'https:' ? secured(tls, lookup) : Promise.resolve((to) => connectPlain(to, lookup))
}

async function secured(
  tls: TlsMeans | undefined,
  lookup?: LookupFunction,
): Promise<ReturnType<TlsModule['tlsConnector']>> {
  const { tlsConnector } = await import('./connect-tls.js')
  return tlsConnector(tls, lookup)
}

type TlsModule = typeof import('./connect-tls.js')
