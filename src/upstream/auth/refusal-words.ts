// The meaning of a refusal of our credentials, in words that name the setting to change.

import type { CredentialsRefusal } from '../../transports/http-client/options.js'
import { inShell } from '../../text/escape.js'
import type { HttpServerConfig } from '../contracts/server-config.js'
import { googleAuthOf } from './id-token-credentials.js'

/** The words of a server that refuses for want of credentials, and not for another reason. */
const namesCredentials =
  /authenticat|authori[sz]|credential|api[ _-]?key|access[ _-]?key|token|password|log ?in\b|sign ?in\b/i

/** The variables of an address are seldom credentials. */
const namesAddress = /(?:^|_)(?:HOST|HOSTNAME|PORT|URL|ORIGIN|REGION|ZONE|DIR|PATH)$/i

/**
 * The meaning of a refusal for this server, with the variable that holds the credentials; `words` are the server's.
 * Undefined for a 403 without credentials, whose words name none: it is about something else.
 */
export function credentialsRefusal(
  config: HttpServerConfig,
  status?: number,
  words = '',
): CredentialsRefusal | undefined {
  const { name, variables } = config
  const auth = googleAuthOf(config)
  const how = status === undefined ? '' : ` (HTTP ${status})`
  if (auth !== undefined) {
    const who = auth.impersonate ?? 'the account of the credentials'
    const remedy = `check that ${auth.audience} is the audience of the service, and that ${who} has the role roles/run.invoker on it`
    return { message: `Authentication failed: '${name}' refused the ID token${how}`, remedy }
  }
  const variable =
    variables.find((each) => /KEY|TOKEN|SECRET|PASS|AUTH/i.test(each)) ??
    variables.find((each) => status === undefined || !namesAddress.test(each))
  if (variable !== undefined)
    return { message: `Authentication failed: Invalid or missing ${variable}`, remedy: undefined }
  if (status === 403 && !namesCredentials.test(words)) return undefined
  const said = words === '' ? '' : `: ${words}`
  const message = `Authentication failed: '${name}' refused the request${how}${said}`
  return { message, remedy: remedyFor(config) }
}

function remedyFor({ name, login, headers, url, secrets }: HttpServerConfig): string {
  const names = Object.keys(headers).map((each) => each.toLowerCase())
  if (secrets.length > 0 || names.includes('authorization') || new URL(url).username !== '')
    return 'check the headers that its configuration sends'
  const field = 'add Authorization to its headers, with a token that this server takes'
  // The token of a login may be the one that is refused.
  return login === undefined ? field : `${field}, or run: mcps-proxy login ${inShell(name)}`
}
