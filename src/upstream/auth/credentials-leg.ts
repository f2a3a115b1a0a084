// A server that says in a result that it does not know our key.
//
// Gateways in front of MCP servers answer a call without a valid key with a
// result like any other; clients are told the same as for an HTTP 401.

import type { ResponseFrame } from '../../jsonrpc/frame.js'
import type { Edit } from '../../jsonrpc/splice.js'
import type { Call, Outcome } from '../../mcp/call.js'
import type { ClientCapabilities } from '../../mcp/capabilities.js'
import { authenticationFailed } from '../../mcp/error-codes.js'
import type {
  InputRequired,
  Opened,
  Outdated,
  ServerFacts,
  ServerLeg,
  ServerSpeech,
  ServerVoice,
} from '../../mcp/eras/leg.js'
import { type GoogleAuth, googleAuthOf } from './google-auth.js'
import type { CredentialsRefusal } from '../../transports/http-client/options.js'
import type { HttpServerConfig } from '../contracts/server-config.js'

/** Such a result is one short sentence; longer ones are not looked at. */
const SENTENCE_BYTES_MAX = 1024

const isErrorMember = /"isError"\s*:\s*true/
const saysNoKey = /MCP error -401\b|Api key not found/

/** Speaks to a server as its era does, and hears what it says about credentials. */
export class CredentialsLeg implements ServerLeg, ServerSpeech {
  readonly speech: ServerSpeech = this
  readonly #config: HttpServerConfig
  readonly #leg: ServerLeg

  constructor(config: HttpServerConfig, leg: ServerLeg) {
    this.#config = config
    this.#leg = leg
  }

  open(voice: ServerVoice, declared: ClientCapabilities, opening?: Call): Promise<Opened> {
    return this.#leg.open(voice, declared, opening)
  }

  recall(handshake: Uint8Array): ServerFacts | undefined {
    return this.#leg.recall(handshake)
  }

  edits(call: Call): readonly Edit[] {
    return this.#leg.speech.edits(call)
  }

  params(own: string, isAboutTasks?: boolean): string {
    return this.#leg.speech.params(own, isAboutTasks)
  }

  outcome(call: Call, frame: ResponseFrame): Outcome | InputRequired | Outdated {
    if (!saysUnauthorized(frame)) return this.#leg.speech.outcome(call, frame)
    const { name } = this.#config
    const message = credentialsRefusal(this.#config).message
    return { kind: 'failed', error: authenticationFailed(name, message) }
  }
}

function saysUnauthorized(frame: ResponseFrame): boolean {
  if (frame.kind !== 'result' || frame.long !== undefined) return false
  if (frame.line.length > SENTENCE_BYTES_MAX) return false
  if (!frame.line.includes('-401') && !frame.line.includes('Api key not found')) return false
  const text = frame.line.toString('utf8')
  return isErrorMember.test(text) && saysNoKey.test(text)
}

/** What a server says that refuses for want of credentials, and not for another reason. */
const namesCredentials =
  /authenticat|authori[sz]|credential|api[ _-]?key|access[ _-]?key|token|password|log ?in\b|sign ?in\b/i

/** The variables of an address are seldom credentials. */
const namesAddress = /(?:^|_)(?:HOST|HOSTNAME|PORT|URL|ORIGIN|REGION|ZONE|DIR|PATH)$/i

/** Whether a refusal is about credentials: a 403 is one where something is configured for them, or the server says so. */
export function isAboutCredentials(config: HttpServerConfig, status: number, words: string): boolean {
  const hasOwn = googleAuthOf(config) !== undefined || credentialVariable(config) !== undefined
  return status !== 403 || hasOwn || namesCredentials.test(words)
}

/** What a refusal of our credentials means for this server, by the variable that holds them; `words` are the server's own. */
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
    remedy: saysWho(config)
      ? 'check the headers that its configuration sends'
      : 'its configuration sends no Authorization; add it to its headers, with a token that this server takes (there is no OAuth login)',
  }
}

function credentialVariable({ variables }: HttpServerConfig): string | undefined {
  return (
    variables.find((each) => /KEY|TOKEN|SECRET|PASS|AUTH/i.test(each)) ??
    variables.find((each) => !namesAddress.test(each))
  )
}

/** Whether the configuration has anything that may be a credential. */
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
