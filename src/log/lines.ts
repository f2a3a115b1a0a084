// A log record -> one line: for a person, or as JSON for a program.
//
// Details of a record come from errors and from other programs: they can be cyclic or huge, and their getters can throw. A line
// has only data, with limits on depth, members and text, and no secret.

import type { LogLevel, LogRecord } from '../runtime/runtime.js'
import { escapeJson, escapeText } from '../text/escape.js'
import type { Redactor } from '../text/redactor.js'
import { isSecretName } from '../text/secret-names.js'

/** Longest line, in UTF-16 units; a record of many long values keeps its beginning. */
const lineLengthMax = 64 * 1024

/** A record with no secret in it, all of it data. The name of a server is no secret, also where a secret is equal to it. */
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
    ...(record.service === undefined ? {} : { service: record.service }),
    message: plainText(record.message, redactor),
    ...(record.details === undefined ? {} : { details: plain(() => record.details, redactor) }),
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

/** Longest text of one value, in UTF-16 units; the characters after it are counted, not shown. */
const logTextLengthMax: number = 8 * 1024

/** Deepest nesting that is shown: an error, its cause, and their details. */
const depthMax = 6

/** Most members of one object or list that are shown. */
const membersMax = 64

/** A value of a log record as data. */
export type Plain = string | number | boolean | null | readonly Plain[] | { readonly [key: string]: Plain }

/** Never throws; a getter may. */
function plain(read: () => unknown, redactor: Redactor, depth = 0): Plain {
  try {
    return plainOf(read(), redactor, depth)
  } catch {
    return '[cannot be shown]'
  }
}

function plainOf(value: unknown, redactor: Redactor, depth: number): Plain {
  if (typeof value === 'string') return plainText(value, redactor)
  if (typeof value === 'number' || typeof value === 'boolean' || value === null) return value
  if (typeof value !== 'object') return `[${typeof value}]`
  if (depth >= depthMax) return '[…]'
  if (value instanceof Error) return plainError(value, redactor, depth)
  if (Array.isArray(value)) return plainList(value, redactor, depth)
  return plainMembers(value, redactor, depth)
}

function plainText(text: string, redactor: Redactor): string {
  const shown = redactor.shown(text, logTextLengthMax)
  return text.length <= logTextLengthMax ? shown : `${shown}… (${text.length} characters)`
}

function plainList(values: readonly unknown[], redactor: Redactor, depth: number): Plain {
  const shown = values.slice(0, membersMax).map((value) => plain(() => value, redactor, depth + 1))
  return values.length > membersMax ? [...shown, `… (${values.length} items)`] : shown
}

function plainMembers(value: object, redactor: Redactor, depth: number): Record<string, Plain> {
  const keys = Object.keys(value)
  const members = keys.slice(0, membersMax).map((key): [string, Plain] => {
    const read = (): unknown => Reflect.get(value, key)
    const shown = isSecretName(key) ? '[redacted]' : plain(read, redactor, depth + 1)
    return [plainText(key, redactor), shown]
  })
  if (keys.length > membersMax) members.push(['…', `${keys.length} members`])
  return Object.fromEntries(members)
}

function plainError(error: Error, redactor: Redactor, depth: number): Plain {
  const { name, message, stack = '', cause } = error
  return {
    name,
    message: plainText(message, redactor),
    ...plainMembers(error, redactor, depth),
    ...(cause === undefined ? {} : { cause: plain(() => cause, redactor, depth + 1) }),
    stack: plainText(stack, redactor),
  }
}

/** The kinds of text in a log line, each with its colour. */
export type PaintRole = LogLevel | 'time' | 'service' | 'title'

/** Text in the colour of its role, or without colour. */
export type Paint = (role: PaintRole, text: string) => string

export const noPaint: Paint = (_role, text) => text

/** Whether to colour what goes to a terminal: `NO_COLOR` (any non-empty value) and `TERM=dumb` say no. */
export function wantsColors(isTerminal: boolean, env: Readonly<Record<string, string | undefined>>): boolean {
  return isTerminal && (env['NO_COLOR'] ?? '') === '' && env['TERM'] !== 'dumb'
}

export async function loadPaint(): Promise<Paint> {
  const { Chalk } = await import('chalk')
  // The caller decided that colours are wanted; chalk looks at stdout, which is not where we write.
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
