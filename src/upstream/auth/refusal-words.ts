// The meaning of a refusal of our credentials, in words that name the setting to change.

import type { CredentialsRefusal } from '../../transports/http-client/options.js'
import { inShell } from '../../text/escape.js'
import type { HttpServerConfig } from '../contracts/server-config.js'
import { type GoogleAuth, googleAuthOf } from './id-token-credentials.js'

/** The words of a server that refuses for want of credentials, and not for another reason. */
const namesCredentials =
  /authenticat|authori[sz]|credential|api[ _-]?key|access[ _-]?key|token|password|log ?in\b|sign ?in\b/i

/** The variables of an address are seldom credentials. */
const namesAddress = /(?:^|_)(?:HOST|HOSTNAME|PORT|URL|ORIGIN|REGION|ZONE|DIR|PATH)$/i

/** Whether a refusal is about credentials: a 403 is one where something is configured for them, or where the words of the server name them. */
export function speaksOfCredentials(config: HttpServerConfig, status: number, words: string): boolean {
  const hasOwn = googleAuthOf(config) !== undefined || credentialVariable(config) !== undefined
  return status !== 403 || hasOwn || namesCredentials.test(words)
}

/** The meaning of a refusal for this server, with the variable that holds the credentials; `words` are the server's. */
export function credentialsRefusal(
  config: HttpServerConfig,
  status?: number,
  words = '',
): CredentialsRefusal {
  const { name } = config
  const auth = googleAuthOf(config)
  const how = status === undefined ? '' : ` (HTTP ${status})`
  if (auth !== undefined) {
    const message = `Authentication failed: '${name}' refused the ID token${how}`
    return { message, remedy: googleRemedy(auth, status) }
  }
  const variable = credentialVariable(config) ?? (status === undefined ? config.variables[0] : undefined)
  if (variable !== undefined)
    return { message: `Authentication failed: Invalid or missing ${variable}`, remedy: undefined }
  const said = words === '' ? '' : `: ${words}`
  return {
    message: `Authentication failed: '${name}' refused the request${how}${said}`,
    remedy: remedyFor(config),
  }
}

function remedyFor(config: HttpServerConfig): string {
  const { name, login } = config
  if (saysWho(config)) return 'check the headers that its configuration sends'
  const field = 'with a token that this server takes'
  // The token of a login may be the one that is refused.
  return login === undefined
    ? `its configuration sends no Authorization; add it to its headers, ${field}`
    : `add Authorization to its headers, ${field}, or run: mcps-proxy login ${inShell(name)}`
}

function credentialVariable({ variables }: HttpServerConfig): string | undefined {
  return (
    variables.find((each) => /KEY|TOKEN|SECRET|PASS|AUTH/i.test(each)) ??
    variables.find((each) => !namesAddress.test(each))
  )
}

function saysWho({ headers, url, secrets }: HttpServerConfig): boolean {
  const names = Object.keys(headers).map((name) => name.toLowerCase())
  return secrets.length > 0 || names.includes('authorization') || new URL(url).username !== ''
}

function googleRemedy({ audience, impersonate }: GoogleAuth, status: number | undefined): string {
  const who = impersonate ?? 'the account of the credentials'
  return status === 403
    ? `give ${who} the role roles/run.invoker on the service`
    : `check that ${audience} is the audience of the service, and that ${who} may invoke it`
}
