// The options that several commands have.

import type { LogLevel } from '../runtime/runtime.js'
import { type Given, type Option, UsageError, flag, formed, oneOf, text } from './command-line.js'

const timeoutMsMax = 2_147_483_647

const PORT_MAX = 65_535

function wholeNumber(min: number, max: number): (given: string) => number | undefined {
  return (given) => {
    const number = /^\d{1,10}$/.test(given) ? Number(given) : Number.NaN
    return number >= min && number <= max ? number : undefined
  }
}

const portOf = wholeNumber(0, PORT_MAX)

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
  wholeNumber(1, timeoutMsMax),
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

export const servingConflicts = [
  ['silent', 'verbose'],
  ['verbose', 'log-level'],
] as const

/** The least severe level that is logged; the command line decides before the configuration. */
export function logLevelOf(
  { verbose: isVerbose, 'log-level': level }: Pick<Given<typeof serving>, 'verbose' | 'log-level'>,
  configured: LogLevel,
): LogLevel {
  return isVerbose ? 'debug' : (level ?? configured)
}

/** The options of a command about a group of servers, or about what a profile shows of one. */
export const viewOptions = { schema, profile, config }
export const viewConflict = ['schema', 'profile', 'a profile names its servers'] as const

/** A group of servers, or the part of one that a profile shows. */
export type View = Pick<Given<typeof viewOptions>, 'schema' | 'profile' | 'config'>
