// Asks the user of a client before a call of a tool goes to its server.
//
// The question goes the way of the questions of servers: a client with a session is asked during its call (MCP, Elicitation),
// and a client without one gets the question as the result, and sends the call again with the answer (MCP 2026-07-28,
// Multi Round-Trip Requests).

import { createHash } from 'node:crypto'
import { membersOf } from '../jsonrpc/members.js'
import { write } from '../jsonrpc/text.js'
import type { Call } from '../calls/call.js'
import { hasCapability } from '../mcp/capabilities.js'
import { notConfirmed } from '../mcp/error-codes.js'
import { ClientQuestions } from '../proxy/input/client-questions.js'
import { putNewest } from '../runtime/limited-table.js'
import type { Runtime } from '../runtime/runtime.js'
import type { Redactor } from '../text/redactor.js'
import { escapeJson, escapeText } from '../text/escape.js'
import { withoutSecretMembers } from '../text/secret-names.js'

/** How long a person may take. */
const LIFE_MS = 300_000

/** Confirmed calls whose clients still have to bring an answer to their servers. The oldest of more is asked about once more. */
const CONTINUING_MAX = 1024

/** A question shows all arguments of a call, so a call with more than these UTF-16 units of them is refused. */
const CONFIRMED_LENGTH_MAX = 32 * 1024
const NAME_LENGTH_MAX = 200

/** Of one tool call; `args` is raw JSON. */
interface ConfirmedCall {
  readonly schema: string
  readonly server: string
  readonly tool: string
  readonly args: string
}

const METHOD = 'elicitation/create'

export class Confirmations {
  readonly #runtime: Runtime
  readonly #redactor: Redactor
  /** Until when, by what the calls are about; the oldest first. */
  readonly #continuing = new Map<string, number>()

  constructor(runtime: Runtime, redactor: Redactor) {
    this.#runtime = runtime
    this.#redactor = redactor
  }

  /** Calls `go` when the user of the client has agreed; otherwise settles the call. */
  confirm(call: Call, asked: ConfirmedCall, go: () => void): void {
    const about = aboutOf(call, asked)
    const confirmed = (): void => {
      call.root.confirmedAs = about
      // Only its server counts, which does not have it yet.
      call.wasAsked = false
      go()
    }
    if (this.#takeContinuing(call, about)) return confirmed()
    const why = whyNoForm(call.context)
    const refuse = (reason: string): void => call.fail(notConfirmed(asked.tool, reason))
    if (why !== undefined) return refuse(`its user cannot be asked, because ${why}`)
    if (asked.args.length > CONFIRMED_LENGTH_MAX) return refuse(tooLong(asked.args))
    new ClientQuestions(call, asked.server, this.#runtime).ask({
      questions: [{ method: METHOD, params: confirmParams(asked, this.#redactor) }],
      waitMs: LIFE_MS,
      answered: ([answer]) => {
        const action = answer && membersOf(answer[1])?.string('action')
        if (action === 'accept') confirmed()
        else refuse(action === 'decline' ? 'its user has declined' : 'its user has not agreed')
      },
      failed: refuse,
    })
  }

  /** The server of a confirmed call wants the same request again, with answers of the client. */
  continues({ confirmedAs: about }: Call): void {
    if (about !== undefined) putNewest(this.#continuing, about, this.#runtime.now() + LIFE_MS, CONTINUING_MAX)
  }

  /** A server that has asked its client gets the same call again, without another question. */
  #takeContinuing(call: Call, about: string): boolean {
    const { members } = call.frame.params
    const bringsMore = members.span('inputResponses') ?? members.span('requestState')
    const untilMs = bringsMore === undefined ? undefined : this.#continuing.get(about)
    return untilMs !== undefined && this.#continuing.delete(about) && untilMs > this.#runtime.now()
  }
}

/** Why a client can show no form, in words. A client that declares elicitation without parts means forms. */
function whyNoForm({ capabilities, revision }: Call['context']): string | undefined {
  const { version, era, serverRequests } = revision
  // A revision without requests of servers has the question in the result.
  if (era === 'session' && !serverRequests.some((method) => method === METHOD))
    return `revision ${version} has no ${METHOD}`
  if (!capabilities.names.has('elicitation')) return 'its client has not declared elicitation'
  const has = (part: string): boolean => hasCapability(capabilities, 'elicitation', part)
  return has('url') && !has('form') ? 'its client has declared no elicitation by forms' : undefined
}

function tooLong({ length }: string): string {
  return `its arguments have ${length} characters, and a question shows at most ${CONFIRMED_LENGTH_MAX}`
}

/** One text for a principal, a tool and arguments. */
function aboutOf(call: Call, { schema, server, tool, args }: ConfirmedCall): string {
  const digest = createHash('sha256').update(args).digest('base64url')
  return write([call.context.principal ?? '', schema, server, tool, digest])
}

/** Raw JSON of the params of an `elicitation/create` that asks for consent and for nothing else. */
export function confirmParams(
  { server, tool, args }: Omit<ConfirmedCall, 'schema'>,
  redactor: Redactor,
): string {
  const shown = escapeJson(withoutSecretMembers(redactor.clean(args)))
  const message = `Allow this call of the tool ${quoted(tool)} of the server ${quoted(server)}?\n\nArguments: ${shown}`
  return write({ message, requestedSchema: { type: 'object', properties: {} } })
}

function quoted(text: string): string {
  return `'${escapeText(text.slice(0, NAME_LENGTH_MAX))}'`
}
