// The configuration and the limits of a plan, in the form that the proxy reads.

import type { ConfigurationJson, ServerJson } from '../../src/index.js'
import type { Configuration } from '../../src/config/configuration.js'
import { resolveConfig } from '../../src/config/config.js'
import { type Limits, limits as defaults } from '../../src/limits.js'
import {
  type HttpServerLimits,
  defaultHttpServerLimits,
} from '../../src/transports/http-server/front-limits.js'
import type { ServerConfig } from '../../src/upstream/contracts/server-config.js'
import { CAREFUL } from './consent.js'
import { type FrontPlan, type LimitsPlan, type ReloadKind, type ServerPlan, START_MS, TOTAL } from './plan.js'

/** How long lists wait for starting servers. Short, so that a late answer is found. */
export const GRACE_MS = 1000

/** The budget of requests that the proxy answers itself. */
export const OWN_MS = 100

/** The budget of requests that wait for starting servers. */
export const LIST_MS: number = GRACE_MS + OWN_MS

/** Requests over HTTP without a session belong to one client, since the front does not authenticate. */
export const EVERYBODY = 'everybody'

/** No run reaches this limit, so that all calls pass through the policy. */
const ample = { perMinute: 1_000_000 }

/** `changes` are the changes of single servers. Every other seed has a policy. */
export function configurationOf(
  { servers, seed }: { readonly servers: readonly ServerPlan[]; readonly seed: number },
  changes: ReadonlyMap<string, ReloadKind> = new Map(),
): ConfigurationJson {
  const kept = servers.filter(({ name }) => changes.get(name) !== 'removed')
  const changed = kept.map((server) => {
    const change = changes.get(server.name)
    const timed = change === 'retimed' && { timeout: server.timeoutMs + 1 }
    return [
      server.name,
      { ...serverOf(server), ...timed, ...(change === 'described' && { describe: false }) },
    ]
  })
  const mcpServers = Object.fromEntries(changed)
  return { startupGraceMs: GRACE_MS, mcpServers, ...(seed % 2 === 1 && { limits: [ample] }) }
}

export const sources = { own: '/sim/config.json', other: '/sim/other.json' } as const

export function readConfiguration(
  configuration: Readonly<Record<string, unknown>>,
  source: string = sources.own,
): Configuration {
  return resolveConfig(configuration, { source, folder: '/sim', env: {}, home: '/sim' })
}

/** The servers of a configuration at that path; `value` changes each, so that only the names are equal. */
export function serversOf(
  plans: readonly ServerPlan[],
  source: string,
  value?: string,
): readonly ServerConfig[] {
  const own = plans.map((plan) => [plan.name, { ...serverOf(plan), ...otherwise(plan, value) }])
  const { schemas } = readConfiguration({ mcpServers: Object.fromEntries(own) }, source)
  return schemas.get('default')?.servers ?? []
}

function otherwise({ kind, name }: ServerPlan, value: string | undefined): Record<string, unknown> {
  if (value === undefined) return {}
  return kind === 'http' ? { url: `http://${name}.sim/${value}` } : { args: [name, value] }
}

function serverOf(plan: ServerPlan): ServerJson {
  const { name, isolation, concurrency, processes, timeoutMs, idleTimeoutMs, onTimeout } = plan
  const both = {
    protocol: plan.protocol ?? 'legacy',
    timeout: timeoutMs,
    totalTimeout: (plan.total ?? TOTAL) * timeoutMs,
    ...(plan.confirms === true && { confirm: [CAREFUL] }),
  }
  if (plan.kind === 'http')
    return { type: 'http', url: `http://${name}.sim/mcp`, ...both, retries: 2, retryDelay: 100 }
  const shape = { isolation, concurrency, processes, onTimeout }
  const times = { startTimeout: START_MS, restartDelay: plan.restartDelayMs }
  const idle = idleTimeoutMs !== undefined && { idleTimeout: idleTimeoutMs }
  return { command: 'sim', args: [name], ...both, ...shape, ...times, ...idle }
}

export function limitsOf(plan: LimitsPlan): Limits {
  const { lineBytesMax, backlogBytesHigh, backlogBytesMax, inflightMax, callsMax } = plan
  const { queueMax, outgoingBytesMax, processesMax } = plan
  const { session, upstream } = defaults
  const lines = { lineBytesMax, backlogBytesHigh }
  const ofServers = { inflightMax, queueMax, outgoingBytesMax, processesMax }
  return {
    ...defaults,
    session: { ...session, ndjson: { ...session.ndjson, ...lines }, inflightMax, callsMax, backlogBytesMax },
    upstream: { ...upstream, ndjson: { ...upstream.ndjson, ...lines }, ...ofServers },
  }
}

/** Longer than any client in the run stays away. */
export const SESSION_IDLE_MS = 90_000

/** A small limit on request bodies. Calls exceed it, and messages without requests do not. */
const SMALL_BYTES = 180

export function frontLimitsOf(
  { answerWaitMs, eventsMax, bodiesBytesMax }: FrontPlan,
  { lineBytesMax, backlogBytesHigh, backlogBytesMax }: LimitsPlan,
): Partial<HttpServerLimits> {
  return {
    answerWaitMs,
    bodyBytesMax: lineBytesMax,
    backlogBytesHigh,
    backlogBytesMax,
    events: { ...defaultHttpServerLimits.events, eventsMax },
    sessionIdleMs: SESSION_IDLE_MS,
    statelessIdleMs: SESSION_IDLE_MS,
    sweepMs: 10_000,
    lateCheckMs: 2000,
    ...(bodiesBytesMax !== undefined && { bodiesBytesMax, smallBodyBytes: SMALL_BYTES }),
  }
}
