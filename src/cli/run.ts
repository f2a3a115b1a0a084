// The parts that every serving mode shares: the log, the recording, and the clean-up at the end.

import process from 'node:process'
import type { Configuration } from '../config/configuration.js'
import { secretsIn } from '../config/config.js'
import type { ProxyOptions, Runtime } from '../index.js'
import { loadPaint, noPaint, wantsColors, type Paint } from '../log/lines.js'
import { createLogger } from '../log/log.js'
import type { Telemetry } from '../metrics/telemetry.js'
import type { LogLevel, LogSink } from '../runtime/runtime.js'
import type { Logger } from '../log/log.js'
import { realRuntime } from '../real-runtime.js'
import { Children } from './children.js'
import type { Invocation } from './command-line.js'
import { counted } from '../text/counted.js'
import { Endings } from './endings.js'
import { Feedback } from './feedback.js'
import { RunAudit } from './run-audit.js'
import { Screen, canErase } from './screen.js'

/** The options of every serving mode. */
export interface ServeOptions {
  readonly kind: 'stdio' | 'http'
  readonly config: string | undefined
  readonly record: string | undefined
  /** The port of the inspector beside stdio, where 0 is a free one; undefined is no inspector. */
  readonly uiPort: number | undefined
  /** Whether a recording replaces a file that exists. */
  readonly force: boolean
  readonly timeoutMs: number | undefined
  readonly logLevel: LogLevel | undefined
  readonly silent: boolean
  /** Whether lists of servers are kept on disk. */
  readonly keepsLists: boolean
  /** Whether calls are counted and traced where the configuration or the environment wants that. */
  readonly measures: boolean
}

/** The task of a serving process. */
interface Plan<C extends ServeOptions> extends Invocation {
  readonly command: C
  readonly config: Configuration
  /** Reads the configuration again, or another file; undefined where there is none to read. @throws ConfigError */
  readonly read: ((path: string | undefined) => Promise<Configuration>) | undefined
  /** The schemas of a configuration that are served. */
  readonly schemasOf: (config: Configuration) => readonly string[]
}

/** A process that is ready to serve. */
export interface Run<C extends ServeOptions = ServeOptions> extends Plan<C> {
  readonly paint: Paint
  readonly logger: Logger
  readonly screen: Screen
  readonly feedback: Feedback
  readonly endings: Endings
  /** Gets the calls. */
  readonly audit: RunAudit
  /** The servers that run. */
  readonly children: Children
  /** Undefined where nothing asks for metrics or traces. */
  readonly telemetry: Telemetry | undefined
  /** Of each way of serving. */
  readonly options: ProxyOptions & { readonly runtime: Runtime }
}

/**
 * Makes everything ready, serves, and flushes and closes everything; `prepare` is done before anything is opened but the log.
 *
 * @returns the exit code
 */
export async function runPlan<C extends ServeOptions>(
  plan: Plan<C>,
  prepare: () => Promise<void>,
  serve: (run: Run<C>) => Promise<number>,
): Promise<number> {
  const { command } = plan
  // Colours are chosen, and chalk loaded, only for a person who looks at a terminal.
  const paint = wantsColors(process.stderr.isTTY, process.env) ? await loadPaint() : noPaint
  // The line of what is awaited would mix with what a person types.
  const isStateless = command.kind === 'stdio' && process.stdin.isTTY
  const isShown = !command.silent && !isStateless && canErase(process.stderr.isTTY, process.env)
  const screen = new Screen(process.stderr, isShown)
  const logger = openLogger(plan, paint, screen)
  await prepare()
  logger.sink({ level: 'info', message: `configuration in force: ${inWords(plan)}` })
  const children = new Children()
  const endings = new Endings(logger.sink, () => children.kill())
  const own = realRuntime(logger.sink)
  const feedback = new Feedback(logger, screen, own)
  const audit = await openAudit(plan.config, logger, screen, own)
  let telemetry: Telemetry | undefined
  try {
    telemetry = await openTelemetryIfAsked(plan, logger.sink, own, audit)
    // A recording may be refused, and then no server is started.
    const record = await openRecordIfAsked(plan, logger)
    const options = {
      log: feedback.sink,
      onSecrets: (secrets: readonly string[], service: string) => logger.learnSecrets(secrets, service),
      on: [feedback.listeners, ...(telemetry?.listeners ?? [])],
      tracer: telemetry?.tracer,
      gate: audit,
      verbose: logger.isVerbose,
      runtime: children.watch(own),
      // A recording is played back where nothing is kept.
      keep: command.keepsLists && record === undefined,
      ...(record && { tap: record.tap }),
    }
    try {
      return endings.verdict(
        await serve({
          ...plan,
          paint,
          logger,
          screen,
          feedback,
          endings,
          audit,
          children,
          telemetry,
          options,
        }),
      )
    } finally {
      await record?.close()
    }
  } finally {
    feedback.close()
    children.kill()
    await audit.close()
    await telemetry?.close()
    await own.close()
    await logger.close()
  }
}

async function openAudit(
  config: Configuration,
  logger: Logger,
  stderr: Screen,
  runtime: Runtime,
): Promise<RunAudit> {
  const clean: Logger['clean'] = (text, most) => logger.clean(text, most)
  const audit = new RunAudit({ log: logger.sink, stderr, clean, runtime })
  await audit.use(config.audit)
  return audit
}

async function openTelemetryIfAsked(
  { config, command: { kind, measures } }: Plan<ServeOptions>,
  log: LogSink,
  runtime: Runtime,
  audit: RunAudit,
): Promise<Telemetry | undefined> {
  const isAsked =
    config.server.metrics !== undefined || Object.keys(runtime.env).some((name) => name.startsWith('OTEL_'))
  if (!measures || !isAsked) return undefined
  const { openTelemetry } = await import('../metrics/telemetry.js')
  // Several clients start a proxy each with one configuration.
  return openTelemetry(config, { log, runtime, needsPort: kind === 'http', lostLines: () => audit.lostLines })
}

type OpenRecord = Awaited<ReturnType<typeof import('../record/record.js').openRecord>>

async function openRecordIfAsked(
  { command: { record, force }, program, argv }: Plan<ServeOptions>,
  logger: Logger,
): Promise<OpenRecord | undefined> {
  if (record === undefined) return undefined
  const { openRecord } = await import('../record/record.js')
  // An address may hold a password or a key.
  const args = argv.map((arg) => logger.clean(arg))
  return openRecord(
    record,
    { command: [program, ...args].join(' '), args },
    {
      replaces: force,
      onGap: ({ message }) =>
        logger.sink({ level: 'error', message: `${message}; the proxy passes no more messages` }),
    },
  )
}

/** Nothing secret of the schemas that are served, or of the front, is ever logged. */
function openLogger(
  { config, command, schemasOf }: Plan<ServeOptions>,
  paint: Paint,
  stream: Screen,
): Logger {
  const { logging } = config
  const format = process.stderr.isTTY ? 'readable' : 'json'
  // A client that stops reading our stderr must not stop us.
  process.stderr.on('error', () => undefined)
  const logger = createLogger({
    level: levelOf(config, command),
    console: logging.console ? { stream, format, level: command.silent ? 'error' : 'debug' } : undefined,
    paint,
    file: logging.file === undefined ? undefined : { ...logging, path: logging.file },
  })
  addSecrets(logger, config, schemasOf(config))
  logNodeWarnings(logger.sink)
  return logger
}

/** A look for Google's metadata server that finds none; the server that needed it reports the failure. */
const EXPECTED = 'MetadataLookupWarning'

/**
 * Warnings of Node and of packages become log lines instead of bare text on stderr.
 *
 * The reader of our stderr reads a log; a warning may hold an address, and belongs through what takes secrets out of
 * it. One that was silenced (--no-warnings) stays so.
 */
function logNodeWarnings(log: LogSink): void {
  if (process.listenerCount('warning') === 0) return
  process.removeAllListeners('warning')
  process.on('warning', ({ name, message }) =>
    log({ level: name === EXPECTED ? 'debug' : 'warn', message: `${name}: ${message}` }),
  )
}

/** Which file, which schemas, and how many servers. */
function inWords({ config, schemasOf }: Plan<ServeOptions>): string {
  const counts = schemasOf(config).map((name) => {
    const count = config.schemas.get(name)?.servers.filter(({ disabled }) => !disabled).length ?? 0
    return `schema '${name}' with ${counted(count, 'server')}`
  })
  return [config.source, ...counts].join(', ')
}

/** The log records about this configuration. */
export function levelOf({ logging }: Configuration, { logLevel }: ServeOptions): LogLevel {
  return logLevel ?? logging.level
}

/** Nothing secret of these schemas, or of the front, is logged from now on. */
export function addSecrets(logger: Logger, config: Configuration, names: readonly string[]): void {
  logger.addSecrets(secretsIn(config, names))
}
