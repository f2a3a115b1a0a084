// The content of the status pages.

import { write } from '../jsonrpc/text.js'
import type { ServedProxy } from '../proxy/listener.js'
import type { ClusterStatus } from '../store/cluster.js'
import type { SessionStatus } from '../proxy/routing/session-status.js'
import { escapeJson } from '../text/escape.js'
import { type UpstreamStatus, evidenceInWords } from '../upstream/contracts/upstream.js'
import { version } from '../version.js'

const SESSIONS_SHOWN_MAX = 100

/** The parts of a proxy that its status shows; undefined for a disabled schema. */
type ShownProxy = Pick<ServedProxy, 'status' | 'sessions'> | undefined

/** The page of one schema; a sandbox has more fields. */
export function schemaPage(schema: string, proxy: ShownProxy): string {
  return shown({ schema, ...schemaStatus(proxy), ...sandboxStatus(proxy) })
}

export function healthPage(uptimeMs: number): string {
  const uptime = Math.round(uptimeMs) / 1000
  return write({ status: 'ok', timestamp: new Date().toISOString(), uptime })
}

export function gatewayPage(
  { port, origin: url }: { readonly port: number; readonly origin: string },
  uptimeMs: number,
  proxies: ReadonlyMap<string, ShownProxy>,
  cluster?: ClusterStatus,
): string {
  const schemas = new Map([...proxies].map(([name, proxy]) => [name, schemaStatus(proxy)]))
  const all = [...schemas.values()]
  const servers = all.flatMap(({ mcpServers }) => mcpServers)
  return shown({
    server: { status: 'running', port, url, uptime: clockTime(uptimeMs), ...instanceStatus(cluster) },
    schemas: Object.fromEntries(schemas),
    summary: {
      totalSchemas: all.length,
      activeSchemas: all.filter(({ status }) => status === 'active').length,
      totalServers: servers.length,
      connectedServers: servers.filter(({ status }) => status === 'connected').length,
      failedServers: servers.filter(({ status }) => status === 'error').length,
      totalTools: all.reduce((sum, { totalTools }) => sum + totalTools, 0),
    },
  })
}

function instanceStatus(cluster: ClusterStatus | undefined): object {
  if (cluster === undefined) return {}
  const { instance, awayMs, forwards } = cluster
  return { instance, store: awayMs > 0 ? 'away' : 'connected', forwards }
}

/** A page contains words of servers and clients, and terminals show it, so it is escaped. */
function shown(page: object): string {
  return escapeJson(write(page))
}

/** Sessions with private processes come first, then the oldest. */
function schemaStatus(proxy: ShownProxy) {
  const servers = proxy?.status() ?? []
  const failed = servers.filter(({ state }) => state === 'error').length
  const sessions = proxy?.sessions() ?? []
  const withOwn = sessions.filter(({ processes }) => processes.length > 0)
  const others = sessions.filter(({ processes }) => processes.length === 0)
  // A schema serves nothing if all its servers have failed.
  const active = failed > 0 && failed === servers.length ? 'error' : 'active'
  return {
    status: proxy === undefined ? 'disabled' : active,
    mcpServers: servers.map(serverStatus),
    totalTools: servers.reduce((sum, { tools }) => sum + tools, 0),
    connectedServers: servers.filter(({ state }) => state === 'connected').length,
    totalSessions: sessions.length,
    sessions: [...withOwn, ...others].slice(0, SESSIONS_SHOWN_MAX).map(sessionStatus),
  }
}

/** The page leaves out members that are undefined. */
function serverStatus({ name, kind, state, error, connectedAtMs, pids, tools, ...more }: UpstreamStatus) {
  const { about, revision, evidence, changes, users, gauges } = more
  const { memoryBytes, ...counts } = gauges
  return {
    id: name,
    name,
    type: kind,
    status: state,
    toolCount: tools,
    error,
    // When the server was last ready to be called, as in RFC 3339.
    lastConnected: connectedAtMs === undefined ? undefined : new Date(connectedAtMs).toISOString(),
    revision,
    evidence,
    evidenceText: evidence && evidenceInWords[evidence],
    pid: pids[0],
    ...counts,
    // Only known if `memoryLimitMB` is set.
    memoryBytes,
    changes,
    users,
    runtime: about?.runtime,
    isolation: about?.isolation,
    network: about?.network,
  }
}

/** The session id is a secret, so the page does not show it. */
function sessionStatus({ client, revision, connectedAtMs, processes }: SessionStatus) {
  return {
    client: client && { name: client.name, version: client.version },
    revision,
    connectedAt: new Date(connectedAtMs).toISOString(),
    processes,
  }
}

/**
 * The fields that clients of a sandbox read on its pages. Undefined for a schema that is not one sandbox and
 * nothing else, and before the sandbox runs.
 */
export function sandboxStatus(proxy: Pick<ServedProxy, 'status'> | undefined): object | undefined {
  const [only, ...others] = proxy?.status() ?? []
  if (only?.about === undefined || others.length > 0) return undefined
  const { runtime, isolation, network, tools } = only.about
  return {
    status: 'healthy',
    version,
    wrapper_started: only.state === 'connected',
    tools_count: tools.length,
    available_tools: tools,
    runtime,
    isolation,
    network,
  }
}

/** `HH:MM:SS`; the hours continue after 99. */
export function clockTime(ms: number): string {
  const seconds = Math.floor(ms / 1000)
  const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60]
  return parts.map((part) => String(part).padStart(2, '0')).join(':')
}
