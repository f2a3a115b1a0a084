// `${login:NAME}` in the `env` of a program: the access token of the login to the remote server NAME, which the program gets
// at each start.

import {
  type LoginVariable,
  type ServerConfig,
  type StdioServerConfig,
  isRemote,
} from '../upstream/contracts/server-config.js'
import type { Expansion } from './expand.js'
import type { Section } from './section.js'
import { namesHint } from '../text/nearest.js'

/** With the text around it; `$${` is no reference. */
const reference = /^([^]*?)(?<!\$)\$\{login:([^{}]+)\}([^]*)$/

/** The names of the servers whose logins the values of an `env` refer to. */
export function loginsIn(env: object): string[] {
  return Object.values(env).flatMap((text) => reference.exec(String(text))?.[2] ?? [])
}

/** The variables of an `env` that have a token, without the logins, and the others as they are written. */
export function readLoginVariables(
  section: Section,
  env: ReadonlyMap<string, string>,
  expansion: Expansion,
): { readonly logins: readonly LoginVariable[]; readonly plain: ReadonlyMap<string, string> } {
  const plain = new Map<string, string>()
  const logins: LoginVariable[] = []
  for (const [variable, text] of env) {
    const [, before = '', server, after = ''] = reference.exec(text) ?? []
    if (server === undefined) plain.set(variable, text)
    else if (reference.test(after))
      section.problem('env', `refers to two logins in "${variable}"`, 'write one login in each variable')
    else
      logins.push({
        variable,
        before: expansion.text(before),
        after: expansion.text(after),
        server,
        target: undefined,
      })
  }
  return { plain, logins }
}

/** The server with the logins that its variables refer to; `servers` are those of its schema. */
export function withLogins(server: ServerConfig, servers: readonly ServerConfig[]): ServerConfig {
  if (server.kind !== 'stdio' || server.loginVariables === undefined) return server
  const logins = server.loginVariables.map((each) => linked(each, servers))
  const lost = logins.find(({ target }) => target === undefined)
  const names = servers.flatMap((each) => (isRemote(each) && each.login !== undefined ? [each.name] : []))
  const why =
    lost &&
    `\${login:${lost.server}} of "${lost.variable}" names no remote server of this file that gets a login; ${namesHint(lost.server, names)}`
  return {
    ...server,
    loginVariables: logins,
    unavailable: server.unavailable ?? why,
  } satisfies StdioServerConfig
}

function linked(variable: LoginVariable, servers: readonly ServerConfig[]): LoginVariable {
  const found = servers.find(({ name }) => name === variable.server)
  if (found === undefined || !isRemote(found) || found.login === undefined) return variable
  return { ...variable, target: { url: found.url, settings: found.login } }
}
