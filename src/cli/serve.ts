// A serving process: the resources that it opens, its work, and the order in which it closes everything.

import process from 'node:process'
import { setTimeout as delay } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import type { Audit } from '../audit/audit.js'
import { secretsIn } from '../config/config.js'
import type { Configuration, SchemaConfig } from '../config/configuration.js'
import { homeOf, ownPath } from '../config/file.js'
import {
  type EventSource,
  type ProxyEvents,
  type ProxyOptions,
  type Runtime,
  createProxy,
  limits,
  stdio,
} from '../index.js'
import { type Paint, paintFor } from '../log/lines.js'
import type { Recorder } from '../record/record.js'
import { Logger } from '../log/log.js'
import type { Telemetry } from '../metrics/telemetry.js'
import { viewKey } from '../proxy/routing/views.js'
import { realRuntime } from '../real-runtime.js'
import type { LogSink } from '../runtime/runtime.js'
import { counted } from '../text/counted.js'
import type { Given, Invocation } from './command-line.js'
import { type listening, logLevelOf, type serving } from './common-options.js'
import { ConfigFollower, tellWarnings } from './config-follower.js'
import { type Banner, Failure, bannerRecord, bannerText, httpBanner, stdioBanner } from './console.js'
import { tightLimits } from './control-group.js'
import type { Inspection } from './inspect.js'
import { ServerEventLog } from './server-event-log.js'
import { Children, Shutdown, closeMsMax, faultGraceMs } from './shutdown.js'
import { UnmatchedPatterns } from './unmatched-patterns.js'
import { isWarmingUp, WarmUp } from './warm-up.js'

interface Plan extends Invocation {
  readonly kind: 'stdio' | 'http'
  readonly given: Given<typeof serving>
  /** The port of the inspector: 0 is a free port, or the port of the front; undefined means no inspector. */
  readonly uiPort: number | undefined
  readonly config: Configuration
  /** Reads the configuration again, or another file; undefined if there is no file. @throws ConfigError */
  readonly read: ((path: string | undefined) => Promise<Configuration>) | undefined
  readonly schemasOf: (config: Configuration) => readonly string[]
}

export interface Run extends Plan {
  readonly paint: Paint
  readonly logger: Logger
  /** The command line without secrets. */
  readonly invocation: { readonly command: string; readonly args: readonly string[] }
  readonly eventLog: ServerEventLog
  readonly shutdown: Shutdown
  readonly patterns: UnmatchedPatterns
  readonly children: Children
  /** Undefined if nothing asks for metrics or traces. */
  readonly telemetry: Telemetry | undefined
  readonly inspection: Inspection | undefined
  readonly options: ProxyOptions & { readonly runtime: Runtime }
}

/** Resolves when clients may use the served servers. */
type Readiness = (events: EventSource<ProxyEvents>) => Promise<void>

interface StdioChoice {
  /** The profile that is served in place of a schema. */
  readonly profile?: string | undefined
  /** The process reads stdin when this resolves; the servers start immediately. */
  readonly ready?: Readiness
}

/**
 * Serves one schema to one client on stdin and stdout, until the client leaves or exits, or a signal arrives.
 *
 * @returns the exit code
 */
export function serveStdio(
  plan: Plan,
  schema: SchemaConfig,
  { profile, ready }: StdioChoice = {},
): Promise<number> {
  return withResources(plan, async (run) => {
    const { uiPort, config, shutdown, options, inspection } = run
    // One client needs one process of each server.
    const processesMax = schema.servers.filter(({ kind, disabled }) => kind === 'stdio' && !disabled).length
    warnOfTightLimits(run, processesMax)
    const proxy = await createProxy(config, {
      ...options,
      schema: schema.name,
      ownStart: 'with-client',
      person: 'here',
      eager: ready !== undefined,
      ...(options.keep === true && {
        isInstalledElsewhere: isWarmingUp(config, schema, options.runtime),
      }),
    })
    const proxies = new Map([[schema.name, proxy]])
    run.telemetry?.watch(() => proxies)
    const warmUp = options.keep === true ? new WarmUp(config, schema) : undefined
    warmUp?.watch(proxy)
    const session = await serveUntil(run, proxy, async () => {
      await ready?.(proxy)
      await inspection?.open(proxies, undefined, uiPort)
      const attached = await proxy.attach(stdio(limits.session.ndjson), {
        view: profile === undefined ? undefined : viewKey('profile', profile),
        waitedMs: process.uptime() * 1000,
      })
      announce(run, stdioBanner(config, schema, process.stdin.isTTY))
      await Promise.race([attached.leaving, shutdown.ended])
      if (!shutdown.isFaulty) warmUp?.begin(proxy)
      return attached
    })
    return (await session.ended).exitCode
  })
}

/**
 * Serves every enabled schema on one port, until a signal arrives. Running calls may then finish.
 *
 * @param beforeListening when it resolves, the port is opened
 * @returns the exit code
 * @throws ConfigError if the configuration is unusable, or the system's error if the address is not available
 */
export function serveHttp(
  plan: Plan,
  { host, port, 'allow-unauthenticated': allowUnauthenticated }: Given<typeof listening>,
  beforeListening?: Readiness,
): Promise<number> {
  return withResources(plan, async (run) => {
    const { uiPort, config, shutdown, telemetry, options, logger, inspection } = run
    warnOfTightLimits(run, Infinity)
    if (!run.isNamed) warnOfClientOnStdin(run.program, logger)
    const { openGateway } = await import('../gateway/gateway.js')
    const { inheritedSocket } = await import('../gateway/inherited-socket.js')
    const inherited = inheritedSocket(process.env, process.pid)
    if (typeof inherited === 'string') throw new Failure(inherited, 2)
    const address = { host, port, ...inherited }
    if (uiPort !== undefined)
      (await import('./inspect.js')).refuseOpenPages(config, address.host ?? config.server.host)
    const gateway = await openGateway(config, {
      ...options,
      ...address,
      person: 'here',
      handler: inspection && ((path) => inspection.pages.find(path)),
      allowUnauthenticated,
      // A recording begins with the `initialize` of each session.
      sessionsFolder: run.given.record === undefined ? ownPath(homeOf(process.env), 'sessions') : undefined,
      beforeListening,
      ...(config.server.metrics && telemetry && { metrics: telemetry.page }),
    })
    telemetry?.watch(() => gateway.proxies, gateway.readings)
    const talk = async (): Promise<void> => {
      announce(run, httpBanner(config, gateway))
      await inspection?.open(gateway.proxies, gateway.origin)
      await shutdown.ended
      gateway.drain()
      // Balancers need time to see that it is not ready. On an inherited socket, another process accepts immediately.
      if (!shutdown.isFaulty && inherited === undefined) await delay(drainDelayOf(config))
      // The gateway would wait for the end of the stream that the inspector's page has open.
      await inspection?.close()
    }
    await serveUntil(run, gateway, talk)
    return 0
  })
}

/** A balancer can choose another instance only if there are several. */
const DRAIN_DELAY_MS = 5000

function drainDelayOf({ server: { drainDelayMs, store } }: Configuration): number {
  return drainDelayMs ?? (store === undefined ? 0 : DRAIN_DELAY_MS)
}

/** `processesMax` is the largest number of server processes that can run together. */
function warnOfTightLimits({ config, logger }: Run, processesMax: number): void {
  const most = Math.min(processesMax, config.processesMax ?? limits.upstream.processesMax)
  for (const message of tightLimits(most)) logger.sink({ level: 'warn', message })
}

/** Warns once if a client sends JSON-RPC on stdin, which this mode does not serve. */
function warnOfClientOnStdin(program: string, logger: Logger): void {
  const { stdin } = process
  if (stdin.isTTY) return
  const message = `a client writes to stdin, but without --stdio only HTTP is served; add --stdio to its arguments, for example: ${program} --stdio`
  stdin.on('error', () => undefined)
  stdin.once('data', (chunk: Buffer | string) => {
    stdin.pause()
    if (/^\s*(?:\[\s*)?\{\s*"/.test(chunk.toString())) logger.sink({ level: 'warn', message })
  })
  // A file has nothing to release, although the types have a method for it.
  if ('unref' in stdin && typeof stdin.unref === 'function') stdin.unref()
}

interface Server extends EventSource<ProxyEvents> {
  reload(config: Configuration): Promise<unknown>
  close(graceMs?: number): Promise<void>
}

/** Logs calls and follows the configuration until `talk` ends, then closes the server. */
async function serveUntil<T>(run: Run, server: Server, talk: () => Promise<T>): Promise<T> {
  const { config, eventLog, shutdown } = run
  eventLog.watchCalls(server)
  const follower = new ConfigFollower(run, (next) => server.reload(next))
  try {
    return await talk()
  } finally {
    follower.stop()
    const drainMs = config.server.drainTimeoutMs ?? limits.drainMs
    shutdown.endWithin(drainMs + longestStopMs([...config.schemas.values()]) + closeMsMax)
    await (shutdown.isFaulty ? server.close(faultGraceMs) : server.close())
  }
}

/** All servers stop at the same time, so the longest time counts. */
function longestStopMs(schemas: readonly SchemaConfig[]): number {
  const servers = schemas.flatMap((schema) => schema.servers)
  return Math.max(0, ...servers.map((server) => (server.kind === 'stdio' ? server.stopTimeoutMs : 0)))
}

function announce(run: Run, banner: Banner): void {
  const { given, config, schemasOf, logger, paint } = run
  if (process.stderr.isTTY && !given.silent) process.stderr.write(bannerText(banner, paint))
  else if (!process.stderr.isTTY) logger.announce(bannerRecord(banner))
  tellWarnings(logger, config.warnings, schemasOf(config))
}

/**
 * How much the heap may grow between two full collections, in percent of its live part. V8 also counts the
 * bytes that Node reads outside the heap. By default, V8 collects the whole heap for each 17 MB of results,
 * which doubles the processor time of results of 0.1 to 10 MB (`npm run bench -- results-1mb results-10mb`).
 */
const HEAP_GROWTH_PERCENT = 400

/** Opens the resources of a serving process, does its work, and closes them in the reverse order. */
async function withResources(plan: Plan, work: (run: Run) => Promise<number>): Promise<number> {
  const { given, config, program, argv, uiPort } = plan
  setFlagsFromString(`--heap-growing-percent=${HEAP_GROWTH_PERCENT}`)
  // Colours are chosen, and chalk loaded, only for a person at a terminal.
  const paint = await paintFor(process.stderr.isTTY, process.env)
  const resources: { close(): unknown }[] = []
  const opened = <T extends { close(): unknown } | undefined>(resource: T): T => {
    if (resource !== undefined) resources.push(resource)
    return resource
  }
  const logger = opened(openLogger(plan, paint))
  const log = logger.sink
  try {
    log({ level: 'info', message: `configuration in force: ${inWords(plan)}` })
    const children = new Children()
    const shutdown = new Shutdown(log, children)
    const own = opened(realRuntime(log))
    const audit = opened(await openAuditIfAsked(plan, logger, own))
    const telemetry = opened(await openTelemetryIfAsked(plan, log, own, audit))
    opened({ close: () => children.kill() })
    const eventLog = opened(new ServerEventLog(logger, own))
    // An address may contain a password or a key.
    const args = argv.map((arg) => logger.clean(arg))
    const invocation = { command: [program, ...args].join(' '), args }
    // A recording may be refused, and then no server must start.
    const record = opened(await openRecordIfAsked(plan, invocation, log))
    const patterns = new UnmatchedPatterns(config, log)
    // In a recording, the first answers must not depend on how fast servers start.
    const isRepeatable = given['no-kept-lists'] || record !== undefined
    const options = {
      log: eventLog.sink,
      onSecrets: (secrets: readonly string[], service: string) => logger.learnSecrets(secrets, service),
      on: [
        eventLog.listeners,
        patterns.listeners,
        ...(audit === undefined ? [] : [{ call: audit.onCall }]),
        ...(telemetry?.listeners ?? []),
      ],
      tracer: telemetry?.tracer,
      gate: audit,
      verbose: logger.isVerbose,
      runtime: children.watch(own),
      // A replay has no kept lists, and a server of the command line is in no configuration.
      keep: !isRepeatable && plan.read !== undefined,
      ...(isRepeatable && { limits: { ...limits, initializeGraceMs: Infinity } }),
      ...(record && { tap: record }),
    }
    const parts = { paint, logger, invocation, eventLog, shutdown, patterns, children, telemetry, options }
    const run = { ...plan, ...parts }
    const inspection =
      uiPort === undefined ? undefined : opened(new (await import('./inspect.js')).Inspection(run))
    return shutdown.verdict(
      await work({ ...run, inspection, options: { ...options, ...inspection?.options } }),
    )
  } finally {
    for (const resource of resources.toReversed()) await resource.close()
  }
}

/** The code of the audit is loaded only if there is one. */
async function openAuditIfAsked(
  { config: { audit }, kind }: Plan,
  logger: Logger,
  runtime: Runtime,
): Promise<Audit | undefined> {
  if (audit === undefined) return undefined
  const { openAudit } = await import('../audit/audit.js')
  const clean: Logger['clean'] = (text, most) => logger.clean(text, most)
  const { stderr } = process
  return openAudit(audit, { log: logger.sink, stderr, mayBeStdout: kind === 'http', clean, runtime })
}

async function openTelemetryIfAsked(
  { config, kind, given }: Plan,
  log: LogSink,
  runtime: Runtime,
  audit: Audit | undefined,
): Promise<Telemetry | undefined> {
  const isAsked =
    config.server.metrics !== undefined || Object.keys(runtime.env).some((name) => name.startsWith('OTEL_'))
  if (given['no-metrics'] || !isAsked) return undefined
  const { openTelemetry } = await import('../metrics/telemetry.js')
  // Several clients may each start a proxy with one configuration, so only `http` needs the port.
  return openTelemetry(config, {
    log,
    runtime,
    needsPort: kind === 'http',
    lostLines: () => audit?.lostLines ?? 0,
  })
}

async function openRecordIfAsked(
  { given: { record, force } }: Plan,
  invocation: Run['invocation'],
  log: LogSink,
): Promise<Recorder | undefined> {
  if (record === undefined) return undefined
  const { openRecord } = await import('../record/record.js')
  const onGap = ({ message }: Error): void =>
    log({ level: 'error', message: `${message}; the proxy passes no more messages` })
  return openRecord(record, invocation, { replaces: force, onGap })
}

/** The log never shows secrets of the served schemas or of the front. */
function openLogger({ kind, config, given, schemasOf }: Plan, paint: Paint): Logger {
  const { logging } = config
  const format = process.stderr.isTTY ? 'readable' : 'json'
  // A client that stops reading stderr must not stop this process.
  process.stderr.on('error', () => undefined)
  const logger = new Logger({
    level: logLevelOf(given, logging.level),
    console: logging.console
      ? { stream: process.stderr, format, level: given.silent ? 'error' : 'debug' }
      : undefined,
    paint,
    file:
      logging.file === undefined
        ? undefined
        : { ...logging, path: logging.file, mayBeStdout: kind === 'http' },
  })
  logger.addSecrets(secretsIn(config, schemasOf(config)))
  logNodeWarnings(logger.sink)
  return logger
}

/** A warning may contain an address, and the log redacts secrets. Warnings that --no-warnings silences stay silent. */
function logNodeWarnings(log: LogSink): void {
  if (process.listenerCount('warning') === 0) return
  process.removeAllListeners('warning')
  process.on('warning', ({ name, message }) =>
    // A server without Google's metadata server reports the failure itself, at each start.
    log({ level: name === 'MetadataLookupWarning' ? 'debug' : 'warn', message: `${name}: ${message}` }),
  )
}

function inWords({ config, schemasOf }: Plan): string {
  const counts = schemasOf(config).map((name) => {
    const count = config.schemas.get(name)?.servers.filter(({ disabled }) => !disabled).length ?? 0
    return `group '${name}' with ${counted(count, 'server')}`
  })
  return [config.source, ...counts].join(', ')
}
