// The options that several commands have.

import { readJson } from '../config/json-syntax.js'
import { readTextFile } from '../runtime/read-file.js'
import type { LogLevel } from '../runtime/runtime.js'
import { isObject } from '../text/json-object.js'
import { type Given, type Option, UsageError, flag, formed, oneOf, valued } from './command-line.js'

const timeoutMsMax = 2_147_483_647

const PORT_MAX = 65_535

function wholeNumber(min: number, max: number): (given: string) => number | undefined {
  return (given) => {
    const number = /^\d{1,10}$/.test(given) ? Number(given) : Number.NaN
    return number >= min && number <= max ? number : undefined
  }
}

const portOf = wholeNumber(0, PORT_MAX)

export const config: Option<string | undefined> = valued(
  'FILE',
  'The configuration file; --mcp-config is the same',
  { aliases: ['c', 'mcp-config'] },
)

export const schema: Option<string | undefined> = valued(
  'NAME',
  'The group of servers to use (default: "default")',
)

const profile: Option<string | undefined> = valued('NAME', 'What this profile shows')

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

const host: Option<string | undefined> = valued('HOST', 'Address to listen on (default: 127.0.0.1)')

export const listening = {
  port,
  host,
  'allow-unauthenticated': flag('Listen beyond this machine without a token'),
}

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
        // The text itself may contain a secret.
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

/** The port of the inspector's page while stdio is served. */
export const uiPort: Option<number | undefined> = {
  ...formed(
    '[PORT]',
    'Serve a page that shows every message, on this port',
    (given) => portOf(given === '' ? '0' : given),
    `a number from 0 to ${PORT_MAX}, or nothing`,
  ),
  kind: 'optional-value',
}

export const serving = {
  timeout,
  record: valued('FILE.jsonl', 'Write every frame on every hop to a file while running'),
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

/** The least severe level that is logged. The command line overrides the configuration. */
export function logLevelOf(
  { verbose: isVerbose, 'log-level': level }: Pick<Given<typeof serving>, 'verbose' | 'log-level'>,
  configured: LogLevel,
): LogLevel {
  return isVerbose ? 'debug' : (level ?? configured)
}

/** The options of a command about a group of servers, or about the part that a profile shows. */
export const viewOptions = { schema, profile, config }
export const viewConflict = ['schema', 'profile', 'a profile names its servers'] as const

/** A group of servers, or the part of one that a profile shows. */
export type View = Pick<Given<typeof viewOptions>, 'schema' | 'profile' | 'config'>

/** The client for a login by address. */
export interface LoginClientInfo {
  readonly clientId?: string
  readonly clientSecret?: string
  readonly clientMetadataUrl?: string
}

/** More than a file with an id and a secret needs. */
const CLIENT_INFO_BYTES_MAX = 64 * 1024

export const clientOptions = {
  'client-info': valued('JSON|@FILE', 'The client for the login: {"client_id": …, "client_secret": …}'),
  'client-metadata-url': formed(
    'URL',
    'A client ID metadata document, for the login',
    (given) => (/^https:\/\/[^/]+\/./.test(given) ? given : undefined),
    'an https:// address with a path',
  ),
}

/** Undefined if the command line names no client. @throws UsageError */
export function clientInfoOf(given: Given<typeof clientOptions>): LoginClientInfo | undefined {
  const { 'client-info': info, 'client-metadata-url': clientMetadataUrl } = given
  const members = info === undefined ? {} : membersOf(info)
  // The text itself may contain a secret.
  if (members === undefined)
    throw new UsageError(
      '--client-info has no "client_id", or its file cannot be read',
      `for example: --client-info '{"client_id":"…"}', or --client-info @FILE with that text`,
    )
  if (info === undefined && clientMetadataUrl === undefined) return undefined
  return { ...members, ...(clientMetadataUrl !== undefined && { clientMetadataUrl }) }
}

function membersOf(written: string): LoginClientInfo | undefined {
  const read = readJson(written.startsWith('@') ? textOf(written.slice(1)) : written)
  if (read.kind !== 'value' || !isObject(read.value)) return undefined
  const { client_id: clientId, client_secret: clientSecret } = read.value
  if (typeof clientId !== 'string' || clientId === '') return undefined
  return { clientId, ...(typeof clientSecret === 'string' && { clientSecret }) }
}

function textOf(path: string): string {
  const file = readTextFile(path, CLIENT_INFO_BYTES_MAX)
  return file.kind === 'read' ? file.text : ''
}
