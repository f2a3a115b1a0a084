// Problems with the proxy or the certificates of a remote server, found without a connection.

import { contextOf } from '../../transports/http-client/connect-tls.js'
import { isNearby, proxyFor } from '../../transports/http-client/proxy-choice.js'
import { socketTrouble } from '../../transports/http-client/trouble.js'
import { type HttpServerConfig, type ServerConfig, isRemote } from '../contracts/server-config.js'
import { tlsMeans } from './tls-files.js'

export interface WayTroubles {
  /** For each of them the server cannot be reached. */
  readonly problems: readonly string[]
  /** What is configured and of no use. */
  readonly warnings: readonly string[]
}

const none: WayTroubles = { problems: [], warnings: [] }

/** Reads the proxy and the certificates of a server as a connection to it does. */
export function wayTroubles(
  server: ServerConfig,
  env: Readonly<Record<string, string | undefined>>,
): WayTroubles {
  if (!isRemote(server)) return none
  const { url, proxy, tls } = server
  const address = new URL(url)
  const checks = [
    () => proxyFor(address, { own: proxy, env }),
    () => tls && address.protocol === 'https:' && contextOf(tlsMeans(tls).material()),
  ]
  return {
    problems: checks.flatMap((check) => troubleOf(check) ?? []),
    warnings: unusedProxy(address, proxy) ?? [],
  }
}

/** A proxy of its own would look for such a server on another machine. */
function unusedProxy({ hostname }: URL, proxy: HttpServerConfig['proxy']): string[] | undefined {
  if (typeof proxy !== 'string' || !isNearby(hostname)) return undefined
  return [
    `has a proxy, which is not used: ${hostname} is on this machine or its link and is reached directly`,
  ]
}

function troubleOf(check: () => unknown): string | undefined {
  try {
    check()
    return undefined
  } catch (error) {
    const { what, remedy } = socketTrouble(error)
    return remedy === undefined ? what : `${what}; ${remedy}`
  }
}
