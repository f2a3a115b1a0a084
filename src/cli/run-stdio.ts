// The stdio mode: one client, which started this process, and one schema.
//
// stdout belongs to the protocol, so everything said here goes to stderr. The
// order is chosen for the time until the first answer: the client is attached
// before anything is said.

import process from 'node:process'
import { loadConfig, selectSchema } from '../config.js'
import type { Configuration, SchemaConfig } from '../config.js'
import { memberPath } from '../config/problems.js'
import { createProxy, realRuntime, stdio } from '../index.js'
import type { WireTap } from '../index.js'
import { createLogger, loadPaint, noPaint, wantsColors } from '../log.js'
import type { Logger, Paint } from '../log.js'
import type { StdioCommand } from './args.js'
import { stdioBanner } from './banner.js'
import { Children } from './children.js'
import { Endings } from './endings.js'
import { version } from '../version.js'

/** How long calls may still run after a fault of our own. */
const faultGraceMs = 1000

/** What the process was started as. */
export interface Invocation {
  /** The name it was called by. */
  readonly program: string
  readonly argv: readonly string[]
}

/**
 * Serves until the client leaves, says `exit`, or a signal comes; everything is flushed and closed then.
 *
 * @returns the exit code.
 * @throws ConfigError when the configuration cannot be used.
 */
export async function runStdio(command: StdioCommand, invocation: Invocation): Promise<number> {
  const { config: path, timeoutMs } = command
  const config = loadConfig({ path, timeoutMs, nameDefault: invocation.program })
  const schema = selectSchema(config, command.schema)
  const paint = await choosePaint()
  const logger = openLogger(config, command, paint)
  logger.addSecrets(secretsOf(config, schema))
  const children = new Children()
  const endings = new Endings(logger.sink, () => children.kill())
  endings.watch()
  try {
    return await serve({ command, invocation, config, schema, paint, logger, endings, children })
  } finally {
    await logger.close()
  }
}

interface Run {
  readonly command: StdioCommand
  readonly invocation: Invocation
  readonly config: Configuration
  readonly schema: SchemaConfig
  readonly paint: Paint
  readonly logger: Logger
  readonly endings: Endings
  readonly children: Children
}

async function serve(run: Run): Promise<number> {
  const record = await openRecordIfAsked(run)
  try {
    return await serveTapped(run, record?.tap)
  } finally {
    await record?.close()
  }
}

async function serveTapped(run: Run, tap: WireTap | undefined): Promise<number> {
  const { config, schema, logger, endings, children } = run
  const proxy = await createProxy(config, {
    schema: schema.name,
    name: config.server.name,
    log: logger.sink,
    runtime: children.watch(realRuntime),
    ...(tap === undefined ? {} : { tap }),
  })
  try {
    const session = await proxy.attach(stdio())
    announce(run)
    const left = session.ended.then(({ exitCode }) => exitCode)
    return await Promise.race([left, endings.ended])
  } finally {
    await (endings.isFaulty ? proxy.close(faultGraceMs) : proxy.close())
  }
}

async function openRecordIfAsked({ command, invocation }: Run): Promise<OpenRecord | undefined> {
  if (command.record === undefined) return undefined
  const { openRecord } = await import('../record.js')
  return openRecord(command.record, { command: [invocation.program, ...invocation.argv].join(' ') })
}

type OpenRecord = Awaited<ReturnType<typeof import('../record.js').openRecord>>

/** Colours are chosen, and chalk loaded, only for a person who looks at a terminal. */
async function choosePaint(): Promise<Paint> {
  return wantsColors(process.stderr.isTTY, process.env) ? loadPaint() : noPaint
}

function openLogger({ logging }: Configuration, { logLevel, silent }: StdioCommand, paint: Paint): Logger {
  const format = process.stderr.isTTY ? 'readable' : 'json'
  const level = logLevel ?? logging.level
  // A client that stops reading our stderr must not stop us.
  process.stderr.on('error', () => undefined)
  return createLogger({
    level,
    console: logging.console
      ? { stream: process.stderr, format, level: silent ? 'error' : level }
      : undefined,
    paint,
    file: logging.file === undefined ? undefined : { ...logging, path: logging.file },
  })
}

function secretsOf({ server }: Configuration, { servers }: SchemaConfig): string[] {
  return [...servers.flatMap(({ secrets }) => secrets), ...(server.token === undefined ? [] : [server.token])]
}

function announce({ command, config, schema, paint, logger }: Run): void {
  if (!command.silent) {
    const facts = { name: config.server.name, version, config, schema }
    process.stderr.write(stdioBanner({ ...facts, isInteractive: process.stdin.isTTY }, paint))
  }
  for (const { path, message } of config.warnings)
    if (concerns(path, schema.name))
      logger.sink({ level: 'warn', message: `configuration: ${path}${path === '' ? '' : ' '}${message}` })
}

/** Warnings about schemas that are not served would only be noise here; `--check` tells them. */
function concerns(path: string, schema: string): boolean {
  const own = memberPath('schemas', schema)
  return (
    !path.startsWith('schemas') || path === own || path.startsWith(`${own}.`) || path.startsWith(`${own}[`)
  )
}
