// Asks the user of a client before the proxy forwards a tool call to its server.
//
// The proxy sends the question like one of a server. A client with a session gets a request during its call (MCP
// 2025-11-25, Elicitation). A client without a session gets the question as the result of the call, and sends
// the call again with the answer (MCP 2026-07-28, Multi Round-Trip Requests).

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

/** How long a person may take to answer. */
const LIFE_MS = 300_000

/** Confirmed calls whose servers wait for input. With more, the oldest call needs a second consent. */
const CONTINUING_MAX = 1024

/** A question shows all arguments of a call. The proxy refuses a call with longer arguments, in UTF-16 units. */
const CONFIRMED_LENGTH_MAX = 32 * 1024
const NAME_LENGTH_MAX = 200

/** A tool call that needs consent; `args` is raw JSON. */
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
  /** The expiry of each confirmation, by the key of `aboutOf`, the oldest first. */
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
      // `wasAsked` is about questions of the server, which has not received the call yet.
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

  /** The server of a confirmed call needs input, and the client will repeat the call with the answers. */
  continues({ confirmedAs: about }: Call): void {
    if (about !== undefined) putNewest(this.#continuing, about, this.#runtime.now() + LIFE_MS, CONTINUING_MAX)
  }

  /** Whether this call repeats a confirmed call with input for the server. Such a call needs no second consent. */
  #takeContinuing(call: Call, about: string): boolean {
    const { members } = call.frame.params
    const bringsMore = members.span('inputResponses') ?? members.span('requestState')
    const untilMs = bringsMore === undefined ? undefined : this.#continuing.get(about)
    return untilMs !== undefined && this.#continuing.delete(about) && untilMs > this.#runtime.now()
  }
}

/** Returns why a client cannot show a form. A client that declares elicitation without modes supports forms. */
function whyNoForm({ capabilities, revision }: Call['context']): string | undefined {
  const { version, era, serverRequests } = revision
  // In a revision without server requests, the result carries the question.
  if (era === 'session' && !serverRequests.some((method) => method === METHOD))
    return `revision ${version} has no ${METHOD}`
  if (!capabilities.names.has('elicitation')) return 'its client has not declared elicitation'
  const has = (part: string): boolean => hasCapability(capabilities, 'elicitation', part)
  return has('url') && !has('form') ? 'its client has declared no elicitation by forms' : undefined
}

function tooLong({ length }: string): string {
  return `its arguments have ${length} characters, and a question shows at most ${CONFIRMED_LENGTH_MAX}`
}

/** Returns one key for a principal, a tool and arguments. */
function aboutOf(call: Call, { schema, server, tool, args }: ConfirmedCall): string {
  const digest = createHash('sha256').update(args).digest('base64url')
  return write([call.context.principal ?? '', schema, server, tool, digest])
}

/** Returns the params, as raw JSON, of an `elicitation/create` request that asks only for consent. */
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
