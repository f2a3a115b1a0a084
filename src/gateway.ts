// Every schema of a configuration behind one HTTP front: one proxy for each.
//
// Loaded only when something is served over HTTP.

import type { Configuration } from './config.js'
import type { Serving } from './listener.js'
import type { WireTap } from './jsonrpc/wire-tap.js'
import { type Proxy, createProxy } from './proxy.js'
import type { ProxyOptions } from './proxy-options.js'
import { type ServedSchemas, serveSchemas } from './serving.js'
import { type RealRuntime, realRuntime } from './runtime.js'
import type { Runtime } from './upstream/host.js'
import { defaultHttpLimits } from './transports/http-front/limits.js'

export interface GatewayOptions extends Omit<ProxyOptions, 'schema'> {
  /** What stands above the configuration. */
  readonly host?: string | undefined
  readonly port?: number | undefined
  readonly allowUnauthenticated?: boolean
  readonly allowedHosts?: readonly string[]
}

/** A running gateway. */
export interface Gateway extends Pick<Serving, 'host' | 'port' | 'url'> {
  /** Takes no new request, lets calls finish for up to `graceMs`, answers the rest, and stops every server. */
  close(graceMs?: number): Promise<void>
}

/**
 * Starts every enabled schema and listens.
 *
 * @throws ConfigError when the front would be open to the network without a token, or the system's error when the
 * address cannot be had; nothing is left running then
 */
export async function openGateway(config: Configuration, options: GatewayOptions = {}): Promise<Gateway> {
  const proxies = new Map<string, Proxy>()
  const own = realRuntime(options.log)
  const runtime = options.runtime ?? own
  try {
    for (const schema of enabledSchemas(config)) {
      const tap = options.tap && apart(options.tap, proxies.size, config.schemas.size)
      proxies.set(
        schema,
        await createProxy(config, { eager: true, ...options, runtime, schema, ...(tap && { tap }) }),
      )
    }
    const serving = await listen(config, options, proxies, runtime)
    return { ...serving, close: (graceMs) => close({ serving, proxies, own }, graceMs) }
  } catch (error) {
    await closeAll(proxies, 0)
    await own.close()
    throw error
  }
}

function enabledSchemas({ schemas }: Configuration): string[] {
  return [...schemas.values()].filter(({ enabled }) => enabled).map(({ name }) => name)
}

function listen(
  config: Configuration,
  options: GatewayOptions,
  proxies: ReadonlyMap<string, Proxy>,
  runtime: Runtime,
): Promise<Serving> {
  const { server, source } = config
  const session = options.limits?.session
  const schemas: ServedSchemas = new Map([...config.schemas.keys()].map((name) => [name, proxies.get(name)]))
  return serveSchemas(schemas, options.name ?? server.name, {
    host: options.host ?? server.host,
    port: options.port ?? server.port,
    token: server.token,
    allowUnauthenticated: options.allowUnauthenticated ?? false,
    allowedHosts: options.allowedHosts ?? server.allowedHosts,
    cors: server.cors,
    limits: {
      ...defaultHttpLimits,
      ...(session && { frame: session.frame, bodyBytesMax: session.ndjson.lineBytesMax }),
    },
    log: options.log ?? (() => undefined),
    runtime,
    source,
    remedies: {
      token: 'set server.token or MCPS_PROXY_TOKEN, or start with --allow-unauthenticated',
      port: 'choose another one with --port or server.port; 0 takes a free one',
      host: 'check --host and server.host',
    },
  })
}

interface Opened {
  readonly serving: Serving
  readonly proxies: ReadonlyMap<string, Proxy>
  /** Of the gateway itself; without processes when it was given another one. */
  readonly own: RealRuntime
}

/** The servers are stopped before the front, so that whoever waits for an answer still gets one. */
async function close({ serving, proxies, own }: Opened, graceMs?: number): Promise<void> {
  serving.stop()
  await closeAll(proxies, graceMs)
  await serving.close()
  await own.close()
}

async function closeAll(proxies: ReadonlyMap<string, Proxy>, graceMs: number | undefined): Promise<void> {
  await Promise.all([...proxies.values()].map((proxy) => proxy.close(graceMs)))
}

/** Proxies number their connections from one; here no two may have the same number. */
function apart({ wire, forward }: WireTap, index: number, count: number): WireTap {
  const own = (connection: number): number => connection * count + index
  return {
    ...(wire && { wire: (event) => wire({ ...event, connection: own(event.connection) }) }),
    ...(forward && {
      forward: (event) => forward({ ...event, to: { ...event.to, connection: own(event.to.connection) } }),
    }),
  }
}
