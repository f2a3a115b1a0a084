// The words and options of `login`, `logins` and `logout`.

import { type LoginClientInfo, clientInfoOf, mistakeInClientInfo } from './client-info.js'
import { usage } from './tokens.js'
import type { CommandLine, UsageMistake } from './tokens.js'

export interface LoginCommand {
  readonly kind: 'login'
  readonly what: 'login' | 'logins' | 'logout'
  /** A name of the configuration, or an address; empty for a list. */
  readonly server: string
  /** Scopes to ask for beside those that the server wants. */
  readonly scope: string | undefined
  /** The user whose login it is, where each one has a login at the server. */
  readonly user: string | undefined
  /** Whether a browser of this machine is opened. */
  readonly opensBrowser: boolean
  /** Whether a code is shown that the person enters on another device. */
  readonly isByDevice: boolean
  /** Whether a login is removed that could not be revoked. */
  readonly isForced: boolean
  /** The client at the authorization server, for a server that is in no configuration. */
  readonly client: LoginClientInfo | undefined
  readonly config: string | undefined
  readonly schema: string
  readonly json: boolean
}

const loginCommands = ['login', 'logins', 'logout'] as const

/** The options that name a client. */
const ofClient = ['client-info', 'client-metadata-url'] as const

export function loginCommandOf(line: CommandLine): LoginCommand | UsageMistake {
  const { command, words, rest, values } = line
  const what = loginCommands.find((name) => name === command) ?? 'login'
  const [server, stray] = words
  const example = `for example: mcps-proxy ${what} linear`
  if (stray !== undefined || rest !== undefined) return usage(`${what} takes one server`, example)
  if (what === 'logins' && server !== undefined)
    return usage('logins takes no name', 'mcps-proxy logins lists all')
  if (what !== 'logins' && server === undefined)
    return usage(`${what} needs the name or the address of a server`, example)
  const isNamed = !/^https?:/i.test(server ?? '')
  if (isNamed && ofClient.some((option) => values.has(option)))
    return usage(
      '--client-info and --client-metadata-url are for an address',
      `set auth.clientId of '${server ?? ''}'`,
    )
  if (what === 'login' && !isNamed && values.has('user'))
    return usage(
      '--user is for a server of the configuration',
      'for example: mcps-proxy login linear --user ann',
    )
  const mistake = mistakeInClientInfo(line)
  if (mistake !== undefined) return mistake
  if (values.has('device') && values.has('no-browser'))
    return usage('--device needs no browser of this machine, so --no-browser is not for it', example)
  return {
    kind: 'login',
    what,
    server: server ?? '',
    scope: values.get('scope'),
    user: values.get('user'),
    opensBrowser: !values.has('no-browser'),
    isByDevice: values.has('device'),
    isForced: values.has('force'),
    client: clientInfoOf(line),
    config: values.get('config'),
    schema: values.get('schema') ?? 'default',
    json: values.has('json'),
  }
}
