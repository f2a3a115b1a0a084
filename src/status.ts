// What the status pages show.

import type { UpstreamState, UpstreamStatus } from './upstream/upstream.js'

/** One server of a schema. */
export interface ServerStatus {
  readonly id: string
  readonly name: string
  readonly type: string
  readonly status: UpstreamState
  readonly toolCount: number
  readonly error?: string
  /** When it was last ready to be called, as in RFC 3339. */
  readonly lastConnected?: string
  readonly pid?: number
}

export interface SchemaStatus {
  readonly status: 'active' | 'disabled' | 'error'
  readonly mcpServers: readonly ServerStatus[]
  readonly totalTools: number
  readonly connectedServers: number
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
    ...(pid !== undefined && { pid }),
  }
}

/** `servers` is undefined for a schema that is disabled. */
export function schemaStatus(servers: readonly UpstreamStatus[] | undefined): SchemaStatus {
  if (servers === undefined) return { status: 'disabled', mcpServers: [], totalTools: 0, connectedServers: 0 }
  const mcpServers = servers.map(serverStatus)
  const failed = mcpServers.filter(({ status }) => status === 'error').length
  return {
    // A schema whose every server has failed serves nothing.
    status: failed > 0 && failed === mcpServers.length ? 'error' : 'active',
    mcpServers,
    totalTools: mcpServers.reduce((sum, { toolCount }) => sum + toolCount, 0),
    connectedServers: mcpServers.filter(({ status }) => status === 'connected').length,
  }
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
