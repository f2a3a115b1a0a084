// Starts configured servers for commands that ask them something or only read their lists, and stops them.

import type { JsonValue } from '../ask/json-value.js'
import { LocalClient, type Person } from '../ask/local-client.js'
import { secretsIn } from '../config/config.js'
import type { Configuration, SchemaConfig } from '../config/configuration.js'
import type { ProxyListeners, Runtime, ServerEvent } from '../index.js'
import { Logger } from '../log/log.js'
import { everyAskable } from '../mcp/capabilities.js'
import { openCommon } from '../proxy/common.js'
import { openReady } from '../proxy/proxy.js'
import { viewKey } from '../proxy/routing/views.js'
import { realRuntime } from '../real-runtime.js'
import { within } from '../runtime/deadline.js'
import { Deferred } from '../runtime/deferred.js'
import type { LogSink } from '../runtime/runtime.js'
import type { ListChange, ListGuard } from '../upstream/contracts/list-guard.js'
import type { ServerConfig } from '../upstream/contracts/server-config.js'
import type { UpstreamStatus } from '../upstream/contracts/upstream.js'
import { LastWords } from '../upstream/process/stderr-log.js'
import type { StartGate } from '../upstream/server/start-gate.js'
import { Children, Shutdown } from './shutdown.js'

export interface Attended {
  readonly runtime: Runtime
  /** Writes nothing, but knows the secrets of the schemas. */
  readonly logger: Logger
  /** Resolves with the exit code of a command that a signal or an internal fault ends. */
  readonly interrupted: Promise<number>
}

/** The exit code of a command that an interrupt ends during its work (128 + SIGINT). */
export const INTERRUPTED = 130

/** Runs a command with servers of these schemas. No child outlives the command, even after a second signal. */
export async function withChildren(
  config: Configuration,
  schemas: readonly string[],
  run: (attended: Attended) => Promise<number>,
): Promise<number> {
  const logger = new Logger({ level: 'error', console: undefined, file: undefined })
  logger.addSecrets(secretsIn(config, schemas))
  const children = new Children()
  const shutdown = new Shutdown(logger.sink, children)
  const own = realRuntime(logger.sink)
  try {
    const interrupted = shutdown.ended.then((exitCode) => shutdown.verdict(exitCode || INTERRUPTED))
    return await run({ runtime: children.watch(own), logger, interrupted })
  } finally {
    children.kill()
    await own.close()
    await logger.close()
  }
}

export interface Candidate {
  readonly schema: SchemaConfig
  readonly server: ServerConfig
  readonly label: string
}

export function candidatesOf(schemas: readonly SchemaConfig[]): Candidate[] {
  return schemas.flatMap((schema) =>
    schema.servers
      .filter(({ disabled }) => !disabled)
      .map((server) => {
        return { schema, server, label: schemas.length === 1 ? server.name : `${schema.name}/${server.name}` }
      }),
  )
}

export function disabledWords(servers: readonly ServerConfig[]): string | undefined {
  const names = servers.filter(({ disabled }) => disabled).map(({ name }) => name)
  return names.length === 0
    ? undefined
    : `disabled: ${names.join(', ')}; mcps-proxy enable NAME lets one start again`
}

/** Servers that are tried at the same time, unless a command sets another number. */
export const TRIALS_AT_ONCE_MAX = 4

type LateEvent = Extract<ServerEvent, { state: 'late' }>

/** The first start of a server may take long, and its warnings often say that it will never answer. */
export function lateWords(label: string, { ms, startTimeoutMs }: LateEvent, warning?: string): string {
  const why = warning === undefined ? '' : `; ${warning}`
  return `${label} is not ready after ${inSeconds(ms)}, and may take ${inSeconds(startTimeoutMs)} (startTimeout)${why}`
}

function inSeconds(ms: number): string {
  return `${Math.round(ms / 1000)} s`
}

export interface Trial {
  readonly failure: string | undefined
  readonly needsLogin: boolean
  /** Undefined if no revision was agreed on. */
  readonly revision: UpstreamStatus['revision']
  readonly evidence: UpstreamStatus['evidence']
  readonly tools: number
  /** The size of the tools as a client lists them. */
  readonly toolBytes: number
  /** How many tools a client sees; undefined if the client gets no list. */
  readonly shown: number | undefined
  readonly ms: number
  /** The warnings of the log during the trial, each text once. */
  readonly warnings: readonly string[]
  readonly lastWords: readonly string[]
  readonly changes: readonly ListChange[]
}

const WARNINGS_MAX = 20

/** The time for a list in addition to the times of the server. */
const MARGIN_MS = 1000

interface TrialOptions {
  readonly runtime: Runtime
  /** The profile whose clients see the counted tools; undefined counts all tools of the server. */
  readonly profile: string | undefined
  readonly guard?: ListGuard
  /** Shared by trials that run together, so that their starts and installs take turns. */
  readonly gate?: StartGate
  /** The person whom the server may ask; undefined is a client without capabilities. */
  readonly person?: Person
  readonly on?: ProxyListeners
  /** Called when a start takes long, with the last warning of the log. */
  readonly onLate?: (event: LateEvent, warning: string | undefined) => void
}

/** Starts a server of a schema as a client would, reads its lists, and stops it. */
export async function tryServer(
  config: Configuration,
  schema: SchemaConfig,
  server: ServerConfig,
  { runtime, profile, guard, gate, person, on: listeners = {}, onLate }: TrialOptions,
): Promise<Trial> {
  const startedAt = runtime.now()
  const { startTimeoutMs, firstStartTimeoutMs } = server
  const waitMs = Math.max(startTimeoutMs, firstStartTimeoutMs) + startTimeoutMs + MARGIN_MS
  const alone = withOneServer(config, schema, server, waitMs)
  const lastWords = new LastWords()
  const warnings = new Set<string>()
  const log: LogSink = ({ level, message, details }) => {
    // The sandbox of a server writes its refusals to stderr.
    const isRefusal = message.startsWith('sandbox: ')
    if (details?.['stream'] === 'stderr' && !isRefusal) lastWords.add(message)
    else if ((level === 'warn' || isRefusal) && warnings.size < WARNINGS_MAX) warnings.add(message)
  }
  let list: readonly JsonValue[] | undefined
  const settled = new Deferred<void>()
  /** Also of a server that is tried again, which the status shows as starting. */
  let lastFailure = 'it did not answer in time'
  const own: ProxyListeners = {
    server: (news) => {
      if (news.state === 'failed') lastFailure = news.message
      if (news.state === 'late') onLate?.(news, [...warnings].at(-1))
      if (isSettled(news)) settled.resolve()
    },
  }
  const on = [own, listeners]
  const keep = person === undefined
  const options = { schema: schema.name, runtime, log, on, keep, ownStart: 'with-client' } as const
  const common = openCommon(alone, options)
  const proxy = await openReady(alone, options, { ...common, guard, gate: gate ?? common.gate })
  const view = profile === undefined ? undefined : viewKey('profile', profile)
  const tried = async (): Promise<void> => {
    const client = new LocalClient(proxy, person, view)
    if (person !== undefined) await client.open().catch(() => undefined)
    // This list starts the server, and may be answered with kept lists before the start.
    void listed(client)
    await settled.promise
    const { state } = proxy.status()[0] ?? {}
    if (state !== 'error' && state !== 'login-required') list = await listed(client)
  }
  try {
    await within(tried(), waitMs, runtime)
    const [status] = proxy.status()
    const failure = status?.state === 'connected' ? undefined : (status?.error ?? lastFailure)
    const { revision, evidence, tools = 0, changes = [] }: Partial<UpstreamStatus> = status ?? {}
    const ms = Math.round(runtime.now() - startedAt)
    const needsLogin = status?.state === 'login-required'
    const said = { lastWords: lastWords.lines, warnings: [...warnings] }
    const toolBytes = (list ?? []).reduce((sum, { bytes }) => sum + bytes.length, 0)
    const facts = { revision, evidence, tools, toolBytes, shown: list?.length, changes }
    return { failure, needsLogin, ms, ...facts, ...said }
  } finally {
    await proxy.close(0)
  }
}

/** Whether a start has ended. A server that exits during the probe for its revision starts again. */
function isSettled(news: ServerEvent): boolean {
  if (news.state === 'stopped') return news.cause !== 'restart'
  return news.state === 'ready' || news.state === 'failed'
}

/** The configuration with this server alone, without restarts, and with lists that wait `graceMs` for it. */
function withOneServer(
  config: Configuration,
  schema: SchemaConfig,
  server: ServerConfig,
  graceMs: number,
): Configuration {
  const once = { ...server, lazy: false }
  const servers = once.kind === 'stdio' ? [{ ...once, restart: false }] : [once]
  return { ...config, startupGraceMs: graceMs, schemas: new Map([[schema.name, { ...schema, servers }]]) }
}

/** The client's list of tools; undefined if the client gets an error. */
async function listed(client: LocalClient): Promise<readonly JsonValue[] | undefined> {
  try {
    return await client.listTools()
  } catch {
    return undefined
  }
}

/** A client that servers may ask everything, and that refuses every question. Many servers list more tools for it. */
export const refusesAll: Person = {
  capabilities: JSON.stringify(Object.fromEntries(everyAskable.map((name) => [name, {}]))),
  answer: () => undefined,
}
