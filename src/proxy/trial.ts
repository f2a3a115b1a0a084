// Starts configured servers for the commands that only read their lists, and stops them.

import type { Configuration, SchemaConfig } from '../config/configuration.js'
import { buildError, buildNotification, buildRequest } from '../jsonrpc/build.js'
import { readFrame } from '../jsonrpc/frame.js'
import { numericId } from '../jsonrpc/request-id.js'
import { quote } from '../jsonrpc/text.js'
import { everyAskable } from '../mcp/capabilities.js'
import { methodNotFound } from '../mcp/error-codes.js'
import { readPage } from '../mcp/list-items.js'
import { latestSession } from '../mcp/revisions.js'
import { Deferred } from '../runtime/deferred.js'
import type { ProxyListeners, ServerEvent } from '../events/proxy-events.js'
import { openCommon } from './common.js'
import { createProxy, openProxy } from './proxy.js'
import type { McpProxy } from './proxy-interface.js'
import type { ProxyOptions } from './proxy-options.js'
import { viewKey } from './routing/profile-view.js'
import { type MemoryConnection, memoryPair } from '../transports/memory.js'
import type { ListChange, ListGuard } from '../upstream/contracts/list-guard.js'
import { LastWords } from '../upstream/process/stderr-log.js'
import type { LogSink, Runtime } from '../runtime/runtime.js'
import type { ServerConfig } from '../upstream/contracts/server-config.js'
import type { UpstreamStatus } from '../upstream/contracts/upstream.js'
import { within } from '../runtime/deadline.js'

/** The result of a start. */
export interface Trial {
  /** Undefined when it works. */
  readonly failure: string | undefined
  /** Whether it has failed for want of a login. */
  readonly needsLogin: boolean
  /** Undefined where it was never agreed on. */
  readonly revision: UpstreamStatus['revision']
  readonly evidence: UpstreamStatus['evidence']
  readonly crossing: UpstreamStatus['crossing']
  /** All that the server has. */
  readonly tools: number
  /** Of its tools as a client lists them. */
  readonly toolBytes: number
  /** As a client sees them; undefined where the list has more pages than the first. */
  readonly toolNames: readonly string[] | undefined
  readonly ms: number
  /** The warnings of the log meanwhile, each text once. */
  readonly warnings: readonly string[]
  /** The lines of stderr about its failure. */
  readonly lastWords: readonly string[]
  /** The differences from `mcps.lock`. */
  readonly changes: readonly ListChange[]
}

/** Longer than any wait for all servers. */
const LISTED_MS_MAX = 600_000

/** Warnings of one start that are kept. */
const WARNINGS_MAX = 20

/** Tools of one page that are counted. */
const ITEMS_MAX = 100_000

/** The margin of a list on top of the times of the server. */
const MARGIN_MS = 1000

/** What a server is tried with. */
interface TrialOptions {
  readonly runtime: Runtime
  /** The profile whose clients see the tools that are counted; undefined is all that the server has. */
  readonly profile: string | undefined
  /** In the place of the lock. */
  readonly guard?: ListGuard
  /** Called when a start takes long, with the milliseconds so far and the last warning of the log. */
  readonly onLate?: (ms: number, warning: string | undefined) => void
}

/** Starts a server of a schema as a client without capabilities would, reads its lists, and stops it. */
export async function tryServer(
  config: Configuration,
  schema: SchemaConfig,
  server: ServerConfig,
  { runtime, profile, guard, onLate }: TrialOptions,
): Promise<Trial> {
  const startedAt = runtime.now()
  const waitMs = longestStartMs(server) + server.listTimeoutMs + MARGIN_MS
  // Its only client has no name.
  const front = { ...config.server, tokens: undefined, auth: undefined }
  const alone = { ...withServers(config, schema, [{ ...server, lazy: false }], waitMs), server: front }
  const lastWords = new LastWords()
  const warnings = new Set<string>()
  const log: LogSink = ({ level, message, details }) => {
    // The walls of a sandboxed server say on stderr what they have refused.
    const isRefusal = message.startsWith('sandbox: ')
    if (details?.['stream'] === 'stderr' && !isRefusal) lastWords.add(message)
    else if ((level === 'warn' || isRefusal) && warnings.size < WARNINGS_MAX) warnings.add(message)
  }
  let list = NO_TOOLS
  const settled = new Deferred<void>()
  /** Also of a server that is tried again, which the status calls starting. */
  let lastFailure = 'it did not answer in time'
  const on: ProxyListeners = {
    server: (news) => {
      if (news.state === 'failed') lastFailure = news.message
      if (news.state === 'late') onLate?.(news.ms, [...warnings].at(-1))
      if (isSettled(news)) settled.resolve()
    },
  }
  // Of a server without shared processes none is opened before a client comes.
  const isIsolated = server.kind === 'stdio' && server.isolation === 'session'
  const ownStart = isIsolated ? 'with-client' : 'with-call'
  const options = { schema: schema.name, runtime, log, on, keep: true, eager: true, ownStart } as const
  const proxy = guard === undefined ? await createProxy(alone, options) : openGuarded(guard, alone, options)
  const origin = profile === undefined ? {} : { view: viewKey('profile', profile) }
  const tried = async (): Promise<void> => {
    if (isIsolated) void listed((connection) => proxy.attach(connection))
    // Lists that are kept would be answered before the server has started.
    await settled.promise
    const { state } = proxy.status()[0] ?? {}
    if (state !== 'error' && state !== 'login-required')
      list = await listed((connection) => proxy.attach(connection, origin))
  }
  try {
    await within(tried(), waitMs, runtime)
    const [status] = proxy.status()
    const failure = status?.state === 'connected' ? undefined : (status?.error ?? lastFailure)
    const { revision, evidence, crossing, ...more }: Partial<UpstreamStatus> = status ?? {}
    const { tools = 0, changes = [] } = more
    const ms = Math.round(runtime.now() - startedAt)
    const needsLogin = status?.state === 'login-required'
    const said = { lastWords: lastWords.lines, warnings: [...warnings] }
    const toolNames = list.isWhole ? list.names : undefined
    const facts = { revision, evidence, crossing, tools, toolBytes: list.bytes, toolNames, changes }
    return { failure, needsLogin, ms, ...facts, ...said }
  } finally {
    await proxy.close(0)
  }
}

/** The time of a start, whether the server has listed before or not. */
export function longestStartMs({ startTimeoutMs, firstStartTimeoutMs }: ServerConfig): number {
  return Math.max(startTimeoutMs, firstStartTimeoutMs)
}

/** Whether a start has ended. A server that ended when it was asked what it speaks is started anew. */
function isSettled(news: ServerEvent): boolean {
  if (news.state === 'stopped') return news.cause !== 'restart'
  return news.state === 'ready' || news.state === 'failed'
}

/** The configuration with these servers alone, none of which is restarted, and a list that waits for them so long. */
function withServers(
  config: Configuration,
  schema: SchemaConfig,
  servers: readonly ServerConfig[],
  graceMs: number,
): Configuration {
  const once = servers.map((server) => (server.kind === 'stdio' ? { ...server, restart: false } : server))
  const schemas = new Map([[schema.name, { ...schema, servers: once }]])
  return { ...config, startupGraceMs: graceMs, schemas }
}

/** A proxy in which the guard takes the place of the lock. */
function openGuarded(guard: ListGuard, config: Configuration, options: ProxyOptions): McpProxy {
  const lock = { change: () => undefined, guard: () => guard }
  return openProxy(config, options, { ...openCommon(config, options), lock })
}

/** The first page of a list of tools, as a client gets it. */
interface FirstPage {
  readonly bytes: number
  readonly names: readonly string[]
  readonly isWhole: boolean
}

const NO_TOOLS: FirstPage = { bytes: 0, names: [], isWhole: false }

/** Resolves when a client has the first page of its list of tools, or an error in its place. */
function listed(attach: (connection: ReturnType<typeof memoryPair>[1]) => unknown): Promise<FirstPage> {
  const [ours, theirs] = memoryPair()
  const list = numericId(1)
  return new Promise((resolve) => {
    ours.start({
      message: (line) => {
        const answer = readFrame(line)
        if (answer.kind !== 'result' && answer.kind !== 'error') return
        if (answer.id !== list) return
        const page = answer.kind === 'error' ? undefined : readPage(answer, 'tools', ITEMS_MAX)
        const items = typeof page === 'object' ? page.items : undefined
        resolve({
          bytes: page === undefined ? 0 : line.length,
          names: items?.map(({ key }) => key) ?? [],
          isWhole: typeof page === 'object' && page.cursor === undefined,
        })
      },
      oversize: (_, bytes) => resolve({ ...NO_TOOLS, bytes }),
      drained: () => undefined,
      ended: () => resolve(NO_TOOLS),
      closed: () => resolve(NO_TOOLS),
    })
    attach(theirs)
    ours.send(buildRequest(list, 'tools/list'))
  })
}

/** Starts the servers of a schema, and resolves when each has listed or failed, or with `over`; their lists are kept. */
export async function listServers(
  config: Configuration,
  schema: SchemaConfig,
  runtime: Runtime,
  over: Promise<void>,
): Promise<void> {
  const left = new Set(schema.servers.map(({ name }) => name))
  const all = new Deferred<void>()
  const on: ProxyListeners = {
    server: (news) => {
      if (isSettled(news)) left.delete(news.server)
      if (left.size === 0) all.resolve()
    },
  }
  const alone = withServers(config, schema, schema.servers, LISTED_MS_MAX)
  const options = { schema: schema.name, runtime, on, keep: true, ownStart: 'with-client' } as const
  const proxy = await createProxy(alone, options)
  try {
    void listed((connection) => proxy.attach(connection))
    await Promise.race([all.promise, over])
  } finally {
    await proxy.close(0)
  }
}

/**
 * Starts a server, shows `guard` what it lists to a client that answers every kind of question, and stops the server; also
 * where it fails, or does not answer in time. Many servers have more tools for such a client.
 */
export async function listAsAskable(
  config: Configuration,
  schema: SchemaConfig,
  server: ServerConfig,
  runtime: Runtime,
  guard: ListGuard,
): Promise<void> {
  const waitMs = server.startTimeoutMs + server.listTimeoutMs
  const alone = withServers(config, schema, [server], waitMs)
  const settled = new Deferred<void>()
  const on: ProxyListeners = {
    server: (news) => {
      if (isSettled(news)) settled.resolve()
    },
  }
  const options = { schema: schema.name, runtime, on, ownStart: 'with-client' } as const
  const proxy = openGuarded(guard, alone, options)
  try {
    const [ours, theirs] = memoryPair()
    await proxy.attach(theirs)
    listAsSession(ours)
    await within(settled.promise, waitMs, runtime)
  } finally {
    await proxy.close(0)
  }
}

/** Opens a session, asks for the tools, and refuses what the server asks. */
function listAsSession(ours: MemoryConnection): void {
  const capabilities = everyAskable.map((name) => `${quote(name)}:{}`).join()
  const client = '"clientInfo":{"name":"mcps-proxy lock","version":"1"}'
  ours.start({
    message: (line) => {
      const frame = readFrame(line)
      if (frame.kind === 'request') ours.send(buildError(frame.id, methodNotFound(frame.method)))
      if (frame.kind !== 'result' || frame.id !== numericId(1)) return
      ours.send(buildNotification('notifications/initialized'))
      ours.send(buildRequest(numericId(2), 'tools/list'))
    },
    oversize: () => undefined,
    drained: () => undefined,
    ended: () => undefined,
    closed: () => undefined,
  })
  const version = quote(latestSession.version)
  const params = `{"protocolVersion":${version},"capabilities":{${capabilities}},${client}}`
  ours.send(buildRequest(numericId(1), 'initialize', params))
}
