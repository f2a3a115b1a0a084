// The question of a confirmation, as the user of a client reads it.

import { write } from '../jsonrpc/text.js'
import { escapeJson, escapeText } from '../text/escape.js'
import type { Redactor } from '../text/redactor.js'
import { withoutSecretMembers } from '../text/secret-members.js'

/** A question shows all arguments of a call, so a call with more than these UTF-16 units of them is refused. */
export const CONFIRMED_LENGTH_MAX: number = 32 * 1024
const NAME_LENGTH_MAX = 200

/** Of one tool call; `args` is raw JSON. */
export interface ConfirmedCall {
  readonly server: string
  readonly tool: string
  readonly args: string
}

/** Raw JSON of the params of an `elicitation/create` that asks for consent and for nothing else. */
export function confirmParams({ server, tool, args }: ConfirmedCall, redactor: Redactor): string {
  const shown = escapeJson(withoutSecretMembers(redactor.clean(args)))
  const message = `Allow this call of the tool ${name(tool)} of the server ${name(server)}?\n\nArguments: ${shown}`
  return write({ message, requestedSchema: { type: 'object', properties: {} } })
}

function name(text: string): string {
  return `'${escapeText(text.slice(0, NAME_LENGTH_MAX))}'`
}
