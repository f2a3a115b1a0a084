// Writes a log record as one line: as text for a person, or as JSON for a program.
//
// The details of a record come from errors, and may be huge or not serializable. A line is plain data of limited
// length, without secrets.

import type { LogLevel, LogRecord } from '../runtime/runtime.js'
import { escapeJson, escapeText } from '../text/escape.js'
import { isObject } from '../text/json-object.js'
import type { Redactor } from '../text/redactor.js'
import { isSecretName } from '../text/secret-names.js'

/** The longest line, in UTF-16 units. */
const lineLengthMax = 64 * 1024

/** A record of plain data without secrets. The name of a server stays, even if it equals a secret. */
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

/** Writes one JSON object on one line, with every control character as an escape. */
export function jsonLine(record: PlainRecord): string {
  const whole = JSON.stringify(record)
  if (whole.length <= lineLengthMax) return `${escapeJson(whole)}\n`
  return `${escapeJson(JSON.stringify({ ...record, details: `[${whole.length} characters]` }))}\n`
}

/** Writes a line such as `12:34:56.789 WARN  [Time] what happened  key=value`. */
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

/** The longest text of one value, in UTF-16 units. The line counts further characters. */
const logTextLengthMax: number = 8 * 1024

function plainText(text: string, redactor: Redactor): string {
  const shown = redactor.shown(text, logTextLengthMax)
  return text.length <= logTextLengthMax ? shown : `${shown}… (${text.length} characters)`
}

/** Never throws, although a getter or `toJSON` of the details may. */
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

export type PaintRole = LogLevel | 'time' | 'service' | 'title'

/** Colours a text by its role, or returns it unchanged. */
export type Paint = (role: PaintRole, text: string) => string

export const noPaint: Paint = (_role, text) => text

/** Returns colours only for a terminal, and only if `NO_COLOR` is empty and `TERM` is not `dumb`. */
export async function paintFor(
  isTerminal: boolean,
  env: Readonly<Record<string, string | undefined>>,
): Promise<Paint> {
  if (!isTerminal || (env['NO_COLOR'] ?? '') !== '' || env['TERM'] === 'dumb') return noPaint
  const { Chalk } = await import('chalk')
  // Without a level, Chalk would examine stdout, but the log writes to stderr.
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
