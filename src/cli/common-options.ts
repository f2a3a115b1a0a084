// The options that several commands have.

import type { LogLevel } from '../runtime/runtime.js'
import { type Given, type Option, UsageError, flag, formed, oneOf, text } from './command-line.js'

/** The longest delay of a timer. */
const timeoutMsMax = 2_147_483_647

const PORT_MAX = 65_535

function millisecondsOf(given: string): number | undefined {
  const ms = /^\d{1,10}$/.test(given) ? Number(given) : 0
  return ms >= 1 && ms <= timeoutMsMax ? ms : undefined
}

function portOf(given: string): number | undefined {
  const port = /^\d{1,5}$/.test(given) ? Number(given) : PORT_MAX + 1
  return port <= PORT_MAX ? port : undefined
}

export const config: Option<string | undefined> = text(
  'FILE',
  'The configuration file; --mcp-config is the same',
  { aliases: ['c', 'mcp-config'] },
)

export const schema: Option<string | undefined> = text(
  'NAME',
  'The group of servers that is meant (default: "default")',
)

const profile: Option<string | undefined> = text('NAME', 'What this profile shows')

export const json: Option<boolean> = flag('Print JSON')

export const timeout: Option<number | undefined> = formed(
  'MS',
  'Longest time for a call in milliseconds, for every server',
  millisecondsOf,
  `a number of milliseconds from 1 to ${timeoutMsMax}`,
)

export const port: Option<number | undefined> = formed(
  'N',
  'TCP port (default: 3095, of sandbox 8775); 0 takes a free one',
  portOf,
  `a number from 0 to ${PORT_MAX}`,
  { aliases: ['p'] },
)

export const host: Option<string | undefined> = text('HOST', 'Address to listen on (default: 127.0.0.1)')

export const allowUnauthenticated: Option<boolean> = flag('Listen beyond this machine without a token')

/** RFC 9110, section 5: a token, a colon, and visible characters. */
const headerPattern = /^([!#$%&'*+.^_`|~\w-]+):[ \t]*([\t\x20-\x7e]*?)[ \t]*$/

export const header: Option<Readonly<Record<string, string>>> = {
  kind: 'list',
  value: "'NAME: VALUE'",
  about: 'Header field of every request; may be given again',
  aliases: ['H'],
  read: (texts) =>
    Object.fromEntries(
      texts.map((each, at) => {
        const [, name, value] = headerPattern.exec(each) ?? []
        // The text itself may hold a secret.
        if (name === undefined || value === undefined)
          throw new UsageError(
            `--header number ${at + 1} is no header field`,
            "it must be like --header 'Name: value'",
          )
        return [name, value]
      }),
    ),
}

export const verbose: Option<boolean> = flag('Log everything, as --log-level debug does')

/** Of a page beside stdio, which needs a port. */
export const uiPort: Option<number | undefined> = {
  ...formed(
    '[PORT]',
    'Serve a page that shows every message, on this port',
    (given) => portOf(given === '' ? '0' : given),
    `a number from 0 to ${PORT_MAX}, or nothing`,
  ),
  kind: 'optional-value',
}

/** The options of every command that serves. */
export const serving = {
  timeout,
  record: text('FILE.jsonl', 'Write every frame on every hop to a file while running'),
  force: flag('Let --record replace a file that exists'),
  verbose,
  'log-level': oneOf('LEVEL', 'error, warn, info or debug', ['error', 'warn', 'info', 'debug'], {
    aliases: ['l'],
  }),
  silent: flag('No banner, and nothing but errors on stderr', ['s']),
  'no-kept-lists': flag('Keep nothing on disk of what servers list, and use nothing of it'),
  'no-metrics': flag('Serve and send no metrics and traces, whatever the configuration says'),
} as const

/** What the options of serving say. */
export interface ServeOptions {
  readonly record: string | undefined
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

/** @throws UsageError */
export function serveOptionsOf(given: Given<typeof serving>): ServeOptions {
  const { record, force, timeout: timeoutMs, verbose: isVerbose, silent, 'log-level': level } = given
  if (isVerbose && silent) throw cannotBoth('--silent', '--verbose')
  if (isVerbose && level !== undefined && level !== 'debug')
    throw cannotBoth('--verbose', `--log-level ${level}`)
  const logLevel = isVerbose ? 'debug' : level
  const [keepsLists, measures] = [!given['no-kept-lists'], !given['no-metrics']]
  return { record, force, timeoutMs, logLevel, silent, keepsLists, measures }
}

export function cannotBoth(first: string, second: string, hint = 'choose one'): UsageError {
  return new UsageError(`${first} and ${second} cannot be used together`, hint)
}

/** The options of a command about a group of servers, or about what a profile shows of one. */
export const viewOptions = { schema, profile, config }

/** A schema, or the part of one that a profile shows. */
export interface View {
  readonly config: string | undefined
  readonly schema: string
  /** In place of a schema. */
  readonly profile: string | undefined
}

/** @throws UsageError */
export function viewOf({ schema: named, profile: shown, config: path }: Given<typeof viewOptions>): View {
  if (named !== undefined && shown !== undefined)
    throw cannotBoth('--schema', '--profile', 'a profile names its servers')
  return { config: path, schema: named ?? 'default', profile: shown }
}
