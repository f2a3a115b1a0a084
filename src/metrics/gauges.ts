// The metrics that are read for each scrape, from `status()` and `sessions()` of each proxy and from the process itself.

import process from 'node:process'
import type { McpProxy } from '../proxy/proxy-interface.js'
import { TOKEN_BYTES } from '../text/tokens.js'
import type { UpstreamStatus } from '../upstream/contracts/upstream.js'
import type { Counter, Description, Family, Point, SeriesFamily } from './registry.js'
import { read } from './families.js'

/** The proxies that are looked at, by their schemas. */
export type WatchedProxies = ReadonlyMap<string, Pick<McpProxy, 'status' | 'sessions'>>

const ofServers: readonly (readonly [Description, (status: UpstreamStatus) => number | undefined])[] = [
  [read.up, ({ state }) => (state === 'error' || state === 'login-required' ? 0 : 1)],
  [read.tools, ({ tools }) => tools],
  [read.queueDepth, ({ gauges }) => gauges.queued],
  [read.inflight, ({ gauges }) => gauges.inFlight],
  [read.processes, ({ pids }) => pids.length],
  [read.restarts, ({ gauges }) => gauges.restarts],
  [read.childMemory, ({ gauges }) => gauges.memoryBytes],
]

/** The state of servers and clients. */
export function proxyGauges(proxies: WatchedProxies, listsOf: ListsOf): readonly Family[] {
  const servers = [...proxies].flatMap(([schema, proxy]) =>
    proxy.status().map((status) => ({ schema, labels: [schema, status.name], status })),
  )
  const lists = servers.flatMap(({ schema, labels, status }) =>
    Object.entries(listsOf(schema, status.name) ?? {}).map(([list, value]) => ({
      labels: [...labels, list],
      value,
    })),
  )
  const sessions = [...proxies].map(([schema, proxy]) => ({ labels: [schema], all: proxy.sessions() }))
  return [
    ...ofServers.map(([description, valueOf]) => {
      const points = servers.flatMap(({ labels, status }): Point[] => {
        const value = valueOf(status)
        return value === undefined ? [] : [{ labels, value }]
      })
      return family(description, points)
    }),
    family(read.listBytes, lists),
    family(read.listTokens, lists.map(inTokens)),
    family(
      read.sessions,
      sessions.map(({ labels, all }) => ({ labels, value: all.length })),
    ),
    family(
      read.unread,
      sessions.map(({ labels, all }) => ({
        labels,
        value: all.reduce((sum, { unreadBytes }) => sum + unreadBytes, 0),
      })),
    ),
  ]
}

/** The length of each list of a server; undefined before they are read. */
type ListsOf = (schema: string, server: string) => Readonly<Record<string, number>> | undefined

/** The tokens that results cost. */
export function resultTokens(resultBytes: SeriesFamily<Counter>): Family {
  const points = resultBytes
    .points()
    .flatMap(({ labels, value }) => (typeof value === 'number' ? [inTokens({ labels, value })] : []))
  return family(read.resultTokens, points)
}

/** Estimated from bytes. */
function inTokens({ labels, value }: Point & { readonly value: number }): Point {
  return { labels, value: Math.ceil(value / TOKEN_BYTES) }
}

/** The process at the time of a scrape. */
export interface ProcessFacts {
  readonly memoryBytes: number
  readonly cpuSeconds: number
  readonly startedAtSeconds: number
  /** Delays of the event loop since the last scrape, in seconds, by quantile. */
  readonly delays: readonly (readonly [quantile: string, seconds: number])[]
}

/** The proxy itself. */
export function processGauges(facts: ProcessFacts, version: string): readonly Family[] {
  const build = [version, process.versions.node, process.platform]
  return [
    family(read.buildInfo, [{ labels: build, value: 1 }]),
    family(read.started, one(facts.startedAtSeconds)),
    family(read.memory, one(facts.memoryBytes)),
    family(read.cpu, one(facts.cpuSeconds)),
    family(
      read.eventLoopDelay,
      facts.delays.map(([label, value]) => ({ labels: [label], value })),
    ),
  ]
}

/** A family of one moment. */
export function family(description: Description, points: readonly Point[]): Family {
  return { description, points: () => points }
}

function one(value: number): Point[] {
  return [{ labels: [], value }]
}
