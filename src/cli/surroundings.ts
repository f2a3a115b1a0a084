// What every serving mode shares: the options, the log, the recording, and the clean-up at the end.

import process from 'node:process'
import type { Configuration } from '../config/config.js'
import { createLogger, loadPaint, noPaint, wantsColors } from '../log/log.js'
import type { LogLevel, Logger, Paint } from '../log/log.js'
import { counted } from './counted.js'
import { logNodeWarnings } from './node-warnings.js'
import { Screen, canErase } from './screen.js'

/** The name and the arguments of the process. */
export interface Invocation {
  /** The name it was called by. */
  readonly program: string
  readonly argv: readonly string[]
}

/** The options of every serving mode. */
export interface ServeOptions {
  readonly config: string | undefined
  readonly record: string | undefined
  readonly timeoutMs: number | undefined
  readonly logLevel: LogLevel | undefined
  readonly silent: boolean
  /** Whether lists of servers are kept on disk. */
  readonly keepsLists: boolean
}

type OpenRecord = Awaited<ReturnType<typeof import('../record/record.js').openRecord>>

export async function openRecordIfAsked(
  { record }: ServeOptions,
  { program, argv }: Invocation,
  logger: Logger,
): Promise<OpenRecord | undefined> {
  if (record === undefined) return undefined
  const { openRecord } = await import('../record/record.js')
  // An address may hold a password or a key.
  const args = argv.map((arg) => logger.clean(arg))
  return openRecord(record, { command: [program, ...args].join(' '), args }, ({ message }) =>
    logger.sink({ level: 'error', message: `${message}; nothing more is let through` }),
  )
}

/** Colours are chosen, and chalk loaded, only for a person who looks at a terminal. */
export async function choosePaint(): Promise<Paint> {
  return wantsColors(process.stderr.isTTY, process.env) ? loadPaint() : noPaint
}

/** Nothing secret of these schemas, or of the front, is ever logged. */
export function openLogger(
  config: Configuration,
  schemas: readonly string[],
  options: ServeOptions,
  { paint, screen }: { readonly paint: Paint; readonly screen: Screen },
): Logger {
  const { logging } = config
  const format = process.stderr.isTTY ? 'readable' : 'json'
  const level = levelOf(config, options)
  // A client that stops reading our stderr must not stop us.
  process.stderr.on('error', () => undefined)
  const logger = createLogger({
    level,
    console: logging.console
      ? { stream: screen, format, level: options.silent ? 'error' : 'debug' }
      : undefined,
    paint,
    file: logging.file === undefined ? undefined : { ...logging, path: logging.file },
  })
  addSecrets(logger, config, schemas)
  logNodeWarnings(logger.sink)
  return logger
}

/** The status line on a terminal that names the servers which are not ready. */
export function openScreen({ silent }: ServeOptions): Screen {
  return new Screen(process.stderr, !silent && canErase(process.stderr.isTTY, process.env))
}

/** Logs the configuration in force, before anything else. */
export function tellConfiguration(logger: Logger, config: Configuration, schemas: readonly string[]): void {
  logger.sink({ level: 'info', message: `configuration in force: ${inWords(config, schemas)}` })
}

/** Which file, which schemas, and how many servers. */
function inWords({ source, schemas }: Configuration, names: readonly string[]): string {
  const counts = names.map((name) => {
    const count = schemas.get(name)?.servers.filter(({ disabled }) => !disabled).length ?? 0
    return `schema '${name}' with ${counted(count, 'server')}`
  })
  return [source, ...counts].join(', ')
}

/** What is logged of this configuration. */
export function levelOf({ logging }: Configuration, { logLevel }: ServeOptions): LogLevel {
  return logLevel ?? logging.level
}

/** Nothing secret of these schemas, or of the front, is logged from now on. */
export function addSecrets(
  logger: Logger,
  { server, schemas }: Configuration,
  names: readonly string[],
): void {
  const servers = names.flatMap((name) => schemas.get(name)?.servers ?? [])
  logger.addSecrets(servers.flatMap(({ secrets }) => secrets))
  if (server.token !== undefined) logger.addSecrets([server.token])
}
