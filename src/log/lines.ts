// A log record -> one line: for a person, or as JSON for a program.

import type { LogLevel, LogRecord } from '../runtime/runtime.js'
import { escapeJson, escapeText } from '../text/escape.js'
import type { Paint } from './paint.js'
import { plain, plainText } from './plain.js'
import type { Plain } from './plain.js'
import type { Redactor } from '../text/redactor.js'

/** Longest line, in UTF-16 units; a record of many long values keeps its beginning. */
const lineLengthMax = 64 * 1024

/** A record with no secret in it, all of it data. */
interface PlainRecord {
  readonly time: string
  readonly level: LogLevel
  readonly service?: string
  readonly message: string
  readonly details?: Plain
}

export function plainRecord(record: LogRecord, time: Date, redactor: Redactor): PlainRecord {
  return {
    time: time.toISOString(),
    level: record.level,
    ...(record.service === undefined ? {} : { service: plainText(record.service, redactor) }),
    message: plainText(record.message, redactor),
    ...(record.details === undefined ? {} : { details: plain(record.details, redactor) }),
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

function detailText(details: Plain | undefined): string {
  if (typeof details !== 'object' || details === null) return ''
  const text = Object.entries(details)
    .map(([key, value]) => `  ${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join('')
  const cut = text.length > lineLengthMax ? `${text.slice(0, lineLengthMax)}…` : text
  return escapeText(cut)
}
