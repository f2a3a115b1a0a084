// The stdio mode: one client, which started this process, and one schema.
//
// stdout belongs to the protocol, so everything said here goes to stderr. The
// order is chosen for the time until the first answer: the servers are started
// before the proxy is even loaded.

import process from 'node:process'
import { loadConfig, selectSchema } from '../config.js'
import type { Configuration, SchemaConfig } from '../config.js'
import { headStart } from '../head-start.js'
import { createLogger, loadPaint, noPaint, wantsColors } from '../log.js'
import type { Logger, Paint } from '../log.js'
import type { StdioCommand } from './args.js'
import { Children } from './children.js'
import { Endings } from './endings.js'

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
  const spawn = headStart(schema.servers, process.env)
  try {
    const { serveStdio } = await import('./serve-stdio.js')
    const record = await openRecordIfAsked(command, invocation)
    try {
      const run = { command, config, schema, paint, logger, endings, children, spawn }
      return await serveStdio(run, record?.tap)
    } finally {
      await record?.close()
    }
  } finally {
    children.kill()
    await logger.close()
  }
}

async function openRecordIfAsked(
  command: StdioCommand,
  invocation: Invocation,
): Promise<OpenRecord | undefined> {
  if (command.record === undefined) return undefined
  const { openRecord } = await import('../record.js')
  const { program, argv } = invocation
  return openRecord(command.record, { command: [program, ...argv].join(' '), args: argv })
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
