// The values of a configuration that are never logged: those of variables, of `env` and of `headers`, and
// secrets in `args`.
//
// A value is public if it is shorter than six characters (else too much of the log would be blanked), `true`,
// `false`, or a number of up to eight digits; if the name of its variable says path, host, port, level or
// locale; or if its header is a common one.

import { existsSync } from 'node:fs'
import { isAbsolute } from 'node:path'
import { percentDecoded } from '../text/escape.js'
import { isSecretName, isSecretParameter, secretMemberRanges } from '../text/secret-names.js'

/** A query parameter of at least this length counts as a key, under every name. */
const keyLengthMin = 16

const secretLengthMin = 6

const publicNames: ReadonlySet<string> = new Set(
  'HOME LOGNAME PATH SHELL TERM USER USERNAME LANG TZ TMPDIR TEMP TMP PWD HOSTNAME NODE_ENV EDITOR DISPLAY'.split(
    ' ',
  ),
)
const publicEnding = /(?:^|_)(?:DIR|DIRECTORY|PATH|ROOT|FILE|HOME|HOST|PORT|LEVEL|LANG|LOCALE|REGION|ZONE)$/
const publicHeader =
  /^(?:accept|accept-charset|accept-encoding|accept-language|cache-control|connection|content-type|host|origin|pragma|referer|user-agent|mcp-protocol-version)$/i
const publicValue = /^(?:true|false|[+-]?\d{1,8}(?:\.\d{1,8})?)$/i
const scheme = /^(?:bearer|basic|token|apikey|digest)\s+(\S.*)$/i

export function isPublicName(name: string): boolean {
  const upper = name.toUpperCase()
  return publicNames.has(upper) || upper.startsWith('LC_') || publicEnding.test(upper)
}

export function isPublicValue(value: string): boolean {
  return value.length < secretLengthMin || publicValue.test(value)
}

const number = /^[+-]?\d+(?:\.\d+)?$/
/** In lower case and with a dot, as people write host names. A key has digits or capitals at its end. */
const hostName = /^(?:localhost|(?:[a-z0-9-]{1,63}\.)+[a-z]{2,24})(?::\d{1,5})?$/

/** In the value of a variable, an existing path, a number and a host name are public too. */
export function isPublicVariable(value: string): boolean {
  if (isPublicValue(value) || number.test(value) || hostName.test(value)) return true
  return isAbsolute(value) && existsSync(value)
}

export function secretsOfEnv(env: ReadonlyMap<string, string>): string[] {
  return [...env].flatMap(([name, value]) => (isPublicName(name) || isPublicValue(value) ? [] : [value]))
}

/** The secrets in headers. For `Bearer abc`, `abc` is a secret too. */
export function secretsOfHeaders(headers: ReadonlyMap<string, string>): string[] {
  return [...headers]
    .filter(([name]) => !publicHeader.test(name))
    .flatMap(([, value]) => [value, scheme.exec(value)?.[1] ?? ''])
    .filter((value) => !isPublicValue(value))
}

/** The prefixes of tokens of GitHub, GitLab, Slack, OpenAI and others. */
const knownToken = /(?<![\w-])(?:gh[oprsu]_|github_pat_|glpat-|sk-|xox[a-z]-)[\w-]{16,}/g

/** A part of `Server=x;Password=y`, also behind the name of a variable or an option. */
const textPair = /(?<=^|[;=])\s*(\w[\w .-]*)=(?=([^;]+))/g

/**
 * The secrets in the arguments of a program: values of options such as `--api-key`, of `NAME=VALUE` and of
 * header fields, secrets in addresses, connection strings and JSON, and tokens with a known prefix.
 */
export function secretsOfArguments(args: readonly string[]): string[] {
  return args.flatMap((arg, at) => {
    const [, field, fieldValue = ''] = /^([\w-]+):\s*(\S.*)$/s.exec(arg) ?? []
    if (field !== undefined && isSecretName(field)) return secretsOfHeaders(new Map([[field, fieldValue]]))
    const [, dashes, name = '', written] = /^(--?)?([^=]+)(?:=(.*))?$/s.exec(arg) ?? []
    const next = dashes === undefined || args[at + 1]?.startsWith('--') ? '' : (args[at + 1] ?? '')
    const pairs = [[name, written ?? next], ...[...arg.matchAll(textPair)].map((pair) => pair.slice(1))]
    const named = pairs.flatMap(([name = '', value = '']) =>
      // `Pwd` is a password in a connection string.
      (isSecretName(name) || name === 'key') && (arg.includes(';') || !isPublicName(name)) ? [value] : [],
    )
    const members = secretMemberRanges(arg).map(({ start, end }) => arg.slice(start, end))
    const own = [...named, ...members, ...(arg.match(knownToken) ?? [])]
    return [...own.filter((value) => !isPublicValue(value)), ...secretsOfUrl(arg)]
  })
}

/**
 * The user and password of an address (as written, decoded, and as sent by RFC 7617), and the keys in its query,
 * because some servers expect keys there.
 */
export function secretsOfUrl(url: string): string[] {
  const [, user = ''] = /^[^/]*\/\/([^/@?#]*)@/.exec(url) ?? []
  const [, query = ''] = /^[^?#]*\?([^#]*)/.exec(url) ?? []
  const keys = query.split('&').flatMap((pair) => {
    const [name = '', ...rest] = pair.split('=')
    const value = rest.join('=')
    return isSecretParameter(name) || value.length >= keyLengthMin ? [value] : []
  })
  const values = [...user.split(':'), ...keys].flatMap((value) => [value, percentDecoded(value)])
  if (user !== '') values.push(login(user))
  return [...new Set(values)].filter((value) => !isPublicValue(value))
}

function login(user: string): string {
  const [name = '', ...password] = user.split(':')
  return Buffer.from(`${percentDecoded(name)}:${percentDecoded(password.join(':'))}`).toString('base64')
}
