// A log record -> one line: for a person, or as JSON for a program.
//
// Details of a record come from errors: they can be huge, and no data. A line has only data, with a limit on its length, and no
// secret.

import type { LogLevel, LogRecord } from '../runtime/runtime.js'
import { escapeJson, escapeText } from '../text/escape.js'
import { isObject } from '../text/json-object.js'
import type { Redactor } from '../text/redactor.js'
import { isSecretName } from '../text/secret-names.js'

/** Longest line, in UTF-16 units; a record of many long values keeps its beginning. */
const lineLengthMax = 64 * 1024

/** A record with no secret in it, all of it data. The name of a server is no secret, also where a secret is equal to it. */
export interface PlainRecord {
  readonly time: string
  readonly level: LogLevel
  readonly service?: string
  readonly message: string
  readonly details?: unknown
}

export function plainRecord(record: LogRecord, time: Date, redactor: Redactor): PlainRecord {
  return {
    time: time.toISOString(),
    level: record.level,
    ...(record.service === undefined ? {} : { service: record.service }),
    message: plainText(record.message, redactor),
    ...(record.details === undefined ? {} : { details: plainDetails(record.details, redactor) }),
  }
}

/** One JSON object on one line, with every control character as an escape. */
export function jsonLine(record: PlainRecord): string {
  const whole = JSON.stringify(record)
  if (whole.length <= lineLengthMax) return `${escapeJson(whole)}\n`
  return `${escapeJson(JSON.stringify({ ...record, details: `[${whole.length} characters]` }))}\n`
}

/** `12:34:56.789 WARN  [Time] what happened  key=value`. */
export function readableLine(record: PlainRecord, paint: Paint): string {
  const time = paint('time', record.time.slice(11, 23))
  const level = paint(record.level, record.level.toUpperCase().padEnd(5))
  const service =
    record.service === undefined ? '' : ` ${paint('service', `[${escapeText(record.service)}]`)}`
  const details = detailText(record.details)
  return `${time} ${level}${service} ${escapeText(record.message)}${details === '' ? '' : paint('time', details)}\n`
}

function detailText(details: unknown): string {
  const text = Object.entries(isObject(details) ? details : {})
    .map(([key, value]) => `  ${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join('')
  const cut = text.length > lineLengthMax ? `${text.slice(0, lineLengthMax)}…` : text
  return escapeText(cut)
}

/** Longest text of one value, in UTF-16 units; the characters after it are counted, not shown. */
const logTextLengthMax: number = 8 * 1024

function plainText(text: string, redactor: Redactor): string {
  const shown = redactor.shown(text, logTextLengthMax)
  return text.length <= logTextLengthMax ? shown : `${shown}… (${text.length} characters)`
}

/** Never throws. */
function plainDetails(details: unknown, redactor: Redactor): unknown {
  try {
    return JSON.parse(JSON.stringify(details, (key, value: unknown) => plainValue(key, value, redactor)))
  } catch {
    return '[cannot be shown]'
  }
}

function plainValue(key: string, value: unknown, redactor: Redactor): unknown {
  if (isSecretName(key)) return '[redacted]'
  if (typeof value === 'string') return plainText(value, redactor)
  if (!isObject(value)) return value
  const { name, message, cause, stack } = value
  const all = value instanceof Error ? Object.assign({}, value, { name, message, cause, stack }) : value
  return Object.fromEntries(Object.entries(all).map(([each, of]) => [plainText(each, redactor), of]))
}

/** The kinds of text in a log line, each with its colour. */
export type PaintRole = LogLevel | 'time' | 'service' | 'title'

/** Text in the colour of its role, or without colour. */
export type Paint = (role: PaintRole, text: string) => string

export const noPaint: Paint = (_role, text) => text

/** The colours for a terminal: none where `NO_COLOR` (any non-empty value) or `TERM=dumb` says so, nor for other streams. */
export async function paintFor(
  isTerminal: boolean,
  env: Readonly<Record<string, string | undefined>>,
): Promise<Paint> {
  if (!isTerminal || (env['NO_COLOR'] ?? '') !== '' || env['TERM'] === 'dumb') return noPaint
  const { Chalk } = await import('chalk')
  // Chalk would look at stdout, which is not where we write.
  const chalk = new Chalk({ level: 1 })
  const colors = {
    error: chalk.red,
    warn: chalk.yellow,
    info: chalk.green,
    debug: chalk.gray,
    time: chalk.gray,
    service: chalk.cyan,
    title: chalk.bold,
  }
  return (role, text) => colors[role](text)
}
