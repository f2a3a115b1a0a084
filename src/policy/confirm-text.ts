// The question of a confirmation, as the user of a client reads it.

import { membersOf } from '../jsonrpc/members.js'
import { rawAt, write } from '../jsonrpc/text.js'
import { escapeJson, escapeText } from '../text/escape.js'
import type { Redactor } from '../text/redactor.js'
import { withoutSecretMembers } from '../text/secret-members.js'

/** Longer arguments are cut: a person does not read them, and some clients show the text in a small window. */
const ARGUMENTS_LENGTH_MAX = 2000
/** Of more arguments the last ones would not be seen. */
const MEMBERS_MAX = 50
const NAME_LENGTH_MAX = 200

/** Of one tool call; `args` is raw JSON. */
export interface ConfirmedCall {
  readonly server: string
  readonly tool: string
  readonly args: string
}

/** Raw JSON of the params of an `elicitation/create` that asks for consent and for nothing else. */
export function confirmParams({ server, tool, args }: ConfirmedCall, redactor: Redactor): string {
  const message = `Allow this call of the tool ${name(tool)} of the server ${name(server)}?\n\nArguments: ${shown(args, redactor)}`
  return write({ message, requestedSchema: { type: 'object', properties: {} } })
}

function name(text: string): string {
  return `'${escapeText(text.slice(0, NAME_LENGTH_MAX))}'`
}

function shown(args: string, redactor: Redactor): string {
  if (args.length <= ARGUMENTS_LENGTH_MAX) return cut(args, ARGUMENTS_LENGTH_MAX, redactor)
  const bytes = Buffer.from(args)
  const members = [...(membersOf(bytes) ?? [])]
  if (members.length === 0 || members.length > MEMBERS_MAX) return cut(args, ARGUMENTS_LENGTH_MAX, redactor)
  // Each has its share, so that no long argument hides the next one.
  const lengthMax = Math.floor(ARGUMENTS_LENGTH_MAX / members.length)
  const parts = members.map(({ key: { start }, value: { end } }) =>
    cut(rawAt(bytes, { start, end }), lengthMax, redactor),
  )
  return `{${parts.join(', ')}}`
}

/** JSON up to a length. */
function cut(json: string, lengthMax: number, redactor: Redactor): string {
  const text = escapeJson(withoutSecretMembers(redactor.shown(json, lengthMax)))
  return json.length <= lengthMax ? text : `${text}… (${json.length} characters)`
}
