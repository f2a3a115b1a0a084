// An HTTP front, where many clients find a proxy.
//
// This file is small on purpose: it loads the code of the front only when `serve` runs, so that a proxy on
// stdio never loads that code.

import type { CorsConfig } from '../config/configuration.js'
import type { Listener } from '../proxy/listener.js'
import type { HttpServerLimits } from '../transports/http-server/front-limits.js'

/** Options of an HTTP front: its address and its clients. */
export interface HttpServerOptions {
  /** 3095 if absent; 0 takes a free port. */
  readonly port?: number
  /** `127.0.0.1` if absent; an address other than loopback needs a token. */
  readonly host?: string
  /** The bearer token that every client must present. */
  readonly token?: string
  /** Admits every client that can reach the address, without a token. */
  readonly allowUnauthenticated?: boolean
  /** Host names under which clients reach the front in addition to its own name, with or without a port. */
  readonly allowedHosts?: readonly string[]
  /** The web pages that may call; none if absent. With a token, pages of this machine may. */
  readonly cors?: Partial<CorsConfig>
  readonly limits?: Partial<HttpServerLimits>
}

/**
 * Creates an HTTP front for `proxy.serve`: Streamable HTTP at `/mcp`, HTTP+SSE at `/sse`, and status pages.
 *
 * By default, the front answers only to loopback names, and to no web page. `serve` rejects with ConfigError
 * if it would be open to the network without a token, and with the system's error if the address is taken.
 */
export function httpServer(options: HttpServerOptions = {}): Listener {
  return {
    serve: async (proxy, { name, log, runtime }) => {
      const [{ serveProxies }, { defaultHttpServerLimits }] = await Promise.all([
        import('./serving.js'),
        import('../transports/http-server/front-limits.js'),
      ])
      return serveProxies(
        { name, schemas: new Map([['default', proxy]]), views: new Map() },
        {
          host: options.host ?? '127.0.0.1',
          port: options.port ?? 3095,
          token: options.token,
          tokens: undefined,
          allowUnauthenticated: options.allowUnauthenticated ?? false,
          allowedHosts: options.allowedHosts ?? [],
          cors: { ...noPages, ...options.cors },
          limits: { ...defaultHttpServerLimits, ...options.limits },
          log,
          runtime,
          source: 'httpServer',
          remedies: {
            token: 'give it a `token`, or `allowUnauthenticated: true`',
            port: 'give it another `port`; 0 takes a free one',
            host: 'check `host`',
            page: (origin) => `give it \`cors: { origins: ['${origin}'] }\``,
            name: (host) => `give it \`allowedHosts: ['${host}']\``,
          },
        },
      )
    },
  }
}

const noPages: CorsConfig = {
  enabled: true,
  origins: [],
  methods: ['GET', 'POST', 'DELETE', 'OPTIONS'],
  credentials: false,
  allowedHeaders: ['Content-Type', 'Authorization'],
}
