// The content of the status pages.

import type { ServedProxy } from '../proxy/listener.js'
import type { SessionProcess, SessionStatus } from '../proxy/routing/session-status.js'
import type { ListChange } from '../upstream/contracts/list-guard.js'
import { type ShownState, type UpstreamStatus, evidenceInWords } from '../upstream/contracts/upstream.js'

/** The most sessions that the page shows. It always shows their number. */
const SESSIONS_SHOWN_MAX = 100

/** One server of a schema. */
export interface ServerStatus {
  readonly id: string
  readonly name: string
  readonly type: string
  readonly status: ShownState
  readonly toolCount: number
  readonly error?: string
  /** When it was last ready to be called, as in RFC 3339. */
  readonly lastConnected?: string
  /** The protocol version that it speaks, and how that was found out. */
  readonly revision?: string
  readonly evidence?: string
  /** The same as a sentence. */
  readonly evidenceText?: string
  readonly pid?: number
  /** Calls that it works on, calls that wait, and starts after a crash. */
  readonly inFlight: number
  readonly queued: number
  /** Calls that it may work on at the same time. */
  readonly slots: number
  readonly restarts: number
  /** The memory of its processes, if `memoryLimitMB` is set. */
  readonly memoryBytes?: number
  /** The differences from `mcps.lock`. */
  readonly changes?: readonly ListChange[]
  /** Of a server at which each user has a login: the users whose sessions are open, and those of them without a login. */
  readonly users?: UpstreamStatus['users']
  /** Of a sandbox: what runs the code, how far that isolates, and what it reaches. */
  readonly runtime?: string
  readonly isolation?: string
  readonly network?: string
}

/** One client of a schema; its session id is a secret and not shown. */
export interface ShownSession {
  /** The name and version that the client gives itself. */
  readonly client?: { readonly name?: string; readonly version?: string }
  /** The protocol version. */
  readonly revision: string
  /** As in RFC 3339. */
  readonly connectedAt: string
  /** The processes that run for this client alone. */
  readonly processes: readonly SessionProcess[]
}

export interface SchemaStatus {
  readonly status: 'active' | 'disabled' | 'error'
  readonly mcpServers: readonly ServerStatus[]
  readonly totalTools: number
  readonly connectedServers: number
  readonly totalSessions: number
  /** Sessions with private processes come first, then the oldest; at most 100. */
  readonly sessions: readonly ShownSession[]
}

export interface GatewayStatus {
  readonly server: {
    readonly status: 'running'
    readonly port: number
    readonly url: string
    /** `HH:MM:SS`. */
    readonly uptime: string
  }
  readonly schemas: Readonly<Record<string, SchemaStatus>>
  readonly summary: {
    readonly totalSchemas: number
    readonly activeSchemas: number
    readonly totalServers: number
    readonly connectedServers: number
    readonly failedServers: number
    readonly totalTools: number
  }
}

function serverStatus({
  name,
  kind,
  state,
  error,
  connectedAtMs,
  pids,
  tools,
  about,
  revision,
  evidence,
  changes,
  users,
  gauges: { memoryBytes, ...counts },
}: UpstreamStatus): ServerStatus {
  const [pid] = pids
  return {
    id: name,
    name,
    type: kind,
    status: state,
    toolCount: tools,
    ...(error !== undefined && { error }),
    ...(connectedAtMs !== undefined && { lastConnected: new Date(connectedAtMs).toISOString() }),
    ...(revision !== undefined && { revision }),
    ...(evidence !== undefined && { evidence, evidenceText: evidenceInWords[evidence] }),
    ...(pid !== undefined && { pid }),
    ...counts,
    ...(memoryBytes !== undefined && { memoryBytes }),
    ...(changes !== undefined && { changes }),
    ...(users !== undefined && { users }),
    ...(about !== undefined && {
      runtime: about.runtime,
      isolation: about.isolation,
      network: about.network,
    }),
  }
}

/** The fields that clients of a sandbox read on its pages. */
export interface SandboxStatus {
  readonly status: 'healthy'
  readonly version: string
  readonly wrapper_started: boolean
  readonly tools_count: number
  readonly available_tools: readonly string[]
  readonly runtime: string
  readonly isolation: string
  readonly network: string
}

/** Of a schema that is one sandbox and nothing else; undefined of any other, and before the sandbox runs. */
export function sandboxStatus(
  proxy: Pick<ServedProxy, 'status'> | undefined,
  version: string,
): SandboxStatus | undefined {
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

function shownSession({ client, revision, connectedAtMs, processes }: SessionStatus): ShownSession {
  const { name, version } = client ?? {}
  return {
    ...(client !== undefined && {
      client: { ...(name !== undefined && { name }), ...(version !== undefined && { version }) },
    }),
    revision,
    connectedAt: new Date(connectedAtMs).toISOString(),
    processes,
  }
}

/** Those that are shown of all sessions. */
function shownSessions(sessions: readonly SessionStatus[]): ShownSession[] {
  const withOwn = sessions.filter(({ processes }) => processes.length > 0)
  const others = sessions.filter(({ processes }) => processes.length === 0)
  return [...withOwn, ...others].slice(0, SESSIONS_SHOWN_MAX).map(shownSession)
}

/** `proxy` is undefined for a schema that is disabled. */
export function schemaStatus(proxy: Pick<ServedProxy, 'status' | 'sessions'> | undefined): SchemaStatus {
  const mcpServers = (proxy?.status() ?? []).map(serverStatus)
  const sessions = proxy?.sessions() ?? []
  return {
    status: proxy === undefined ? 'disabled' : stateOf(mcpServers),
    mcpServers,
    totalTools: mcpServers.reduce((sum, { toolCount }) => sum + toolCount, 0),
    connectedServers: mcpServers.filter(({ status }) => status === 'connected').length,
    totalSessions: sessions.length,
    sessions: shownSessions(sessions),
  }
}

/** A schema serves nothing if all its servers have failed. */
function stateOf(servers: readonly ServerStatus[]): 'active' | 'error' {
  const failed = servers.filter(({ status }) => status === 'error').length
  return failed > 0 && failed === servers.length ? 'error' : 'active'
}

export interface GatewayFacts {
  readonly port: number
  readonly url: string
  readonly uptimeMs: number
}

export function gatewayStatus(
  { port, url, uptimeMs }: GatewayFacts,
  schemas: ReadonlyMap<string, SchemaStatus>,
): GatewayStatus {
  const all = [...schemas.values()]
  const servers = all.flatMap(({ mcpServers }) => mcpServers)
  return {
    server: { status: 'running', port, url, uptime: clockTime(uptimeMs) },
    schemas: Object.fromEntries(schemas),
    summary: {
      totalSchemas: all.length,
      activeSchemas: all.filter(({ status }) => status === 'active').length,
      totalServers: servers.length,
      connectedServers: servers.filter(({ status }) => status === 'connected').length,
      failedServers: servers.filter(({ status }) => status === 'error').length,
      totalTools: all.reduce((sum, { totalTools }) => sum + totalTools, 0),
    },
  }
}

/** `HH:MM:SS`; the hours go on after 99. */
export function clockTime(ms: number): string {
  const seconds = Math.floor(ms / 1000)
  const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60]
  return parts.map((part) => String(part).padStart(2, '0')).join(':')
}
