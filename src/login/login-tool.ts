// A tool that replaces the tools of a server that needs a login, if no browser can open without a request, and
// behind `connect`.
//
// Its result tells the person which page to open, or the client asks the person to open it (MCP, Elicitation:
// URL mode). After the login, the tools of the server replace it.

import { buildResult } from '../jsonrpc/build.js'
import { fault } from '../jsonrpc/jsonrpc-errors.js'
import { type ResultFrame, readFrame } from '../jsonrpc/frame.js'
import { type Edit, splice } from '../jsonrpc/splice.js'
import { write } from '../jsonrpc/text.js'
import { type Call, toolFailure } from '../calls/call.js'
import type { CallContext } from '../mcp/client-context.js'
import { type InputRequest, isDeclared, whyUnaskable } from '../mcp/input-requests.js'
import { type ListItem, readListItem } from '../mcp/list-items.js'
import { within } from '../runtime/deadline.js'
import { errorText } from '../text/error-text.js'
import { memberAt, objectIn } from '../text/json-object.js'
import { loginCommand } from './login-error.js'
import type { LoginRuntime } from './login-http.js'
import type { StartedLogin, ServerLogin } from './server-login.js'

/** The longest time that a call waits for the person. A call with an earlier deadline waits less. */
const WAIT_MS_MAX = 50_000

/** The time before the deadline of a call that is reserved for its answer. */
const MARGIN_MS = 5000

/** The longest wait for the page, which is ready after the metadata of the servers was read. */
const PAGE_MS_MAX = 30_000

export interface LoginToolTarget {
  readonly name: string
  readonly named: string
  readonly user?: string | undefined
  /** Undefined if the person can open no page. */
  readonly page: 'of this machine' | 'of the front' | undefined
}

export class LoginTool {
  readonly item: ListItem
  readonly #target: LoginToolTarget
  readonly #login: ServerLogin
  readonly #runtime: LoginRuntime

  constructor(target: LoginToolTarget, login: ServerLogin, runtime: LoginRuntime) {
    this.#target = target
    this.#login = login
    this.#runtime = runtime
    this.item = itemFor(target.name)
  }

  /** Answers a call of the tool. `edits` may contain the answer of the client to a question. */
  call(call: Call, edits: readonly Edit[]): void {
    if (this.#target.page === undefined) return tell(call, this.#words(undefined))
    const isAgain = this.#login.begun !== undefined
    const begun = this.#login.begin()
    const answer = answerIn(call, edits)
    if (answer === 'decline' || answer === 'cancel') return tell(call, 'The login was declined.', true)
    // A call during a login waits for that login, because an earlier call showed the page.
    const run = isAgain || answer !== undefined ? this.#wait(call, begun) : this.#show(call, begun)
    run.catch((error: unknown) => tell(call, `The login cannot begin: ${errorText(error)}`, true))
  }

  /** Asks the client to open the page if the client can. Otherwise the result is a text for the person. */
  async #show(call: Call, begun: StartedLogin): Promise<void> {
    const seen = begun.page.then((shown) => ({ shown }))
    const found = await within(seen, Math.min(PAGE_MS_MAX, this.#leftMs(call)), this.#runtime)
    if (found === undefined) throw new Error('the authorization server is slow; call this tool again')
    const url = found.shown
    if (url === undefined) return this.#wait(call, begun)
    const question = questionOf(`Log in to '${this.#target.name}'`, url)
    if (!canAsk(question, call.context)) return tell(call, this.#words(url))
    call.requestInput({
      frame: questionFrame(call, question.params),
      service: this.#target.name,
      resume: (again, edits) => this.call(again, edits),
    })
  }

  async #wait(call: Call, { page, ended }: StartedLogin): Promise<void> {
    const { name } = this.#target
    const over = ended.then((why) => ({ why }))
    const end = await within(over, Math.min(WAIT_MS_MAX, this.#leftMs(call)), this.#runtime)
    if (end === undefined) return tell(call, this.#words(await page))
    if (end.why !== undefined) return tell(call, `The login failed: ${end.why}`, true)
    tell(call, `Logged in. The tools of '${name}' are listed now.`)
  }

  #leftMs({ deadline }: Call): number {
    return Math.max(0, deadline.endsAt - this.#runtime.now() - MARGIN_MS)
  }

  #words(page: string | undefined): string {
    const { name, named, user } = this.#target
    const command = loginCommand(named, user)
    const after = `The tools of '${name}' appear after the login.`
    if (page === undefined)
      return `'${name}' needs a login, which the operator of mcps-proxy makes on its machine: ${command} --no-browser. ${after}`
    if (this.#target.page === 'of the front')
      return `'${name}' needs a login. The user has ten minutes to open this page: ${page}\n${after} Call this tool again to wait for it.`
    return [
      `'${name}' needs a login. The user has ten minutes to open this page in a browser of the machine on which mcps-proxy runs: ${page}`,
      `Or run on that machine: ${command} --no-browser`,
      `${after} Call this tool again to wait for it.`,
    ].join('\n')
  }
}

function itemFor(name: string): ListItem {
  const description = `Begins the login of the user to '${name}', which has no tools before it. Call it when the user wants to use '${name}': the result says which page the user has to open.`
  const tool = { name: 'login', description, inputSchema: { type: 'object', properties: {} } }
  const item = readListItem(Buffer.from(write(tool)), 'tools')
  if (item === undefined) throw fault('a tool is an item of the list of tools')
  return item
}

function tell(call: Call, text: string, isError = false): void {
  const result = isError ? toolFailure(text) : write({ content: [{ type: 'text', text }] })
  call.settle({ kind: 'result', result })
}

function questionOf(message: string, url: string): InputRequest {
  return { key: '"login"', method: 'elicitation/create', params: write({ mode: 'url', message, url }) }
}

/** For a stateless client, the result of the call contains the question, so no session is needed. */
function canAsk(question: InputRequest, context: CallContext): boolean {
  const isStateless = context.revision.era === 'stateless'
  return isStateless
    ? isDeclared(question, context.capabilities)
    : whyUnaskable(question, context) === undefined
}

/** Returns the action with which the client answered the question. Undefined if it has no answer. */
function answerIn({ frame }: Call, edits: readonly Edit[]): unknown {
  const request: unknown = objectIn(splice(frame.line, edits).joined.toString('utf8'))
  const answer = memberAt(request, ['params', 'inputResponses', 'login'])
  return answer === undefined ? undefined : (memberAt(answer, ['action']) ?? 'cancel')
}

/** The result of a server that asks (MCP 2026-07-28, Multi Round-Trip Requests). */
function questionFrame({ frame: { id } }: Call, params: string): ResultFrame {
  const request = `{"method":"elicitation/create","params":${params}}`
  const { joined } = buildResult(id, `{"resultType":"input_required","inputRequests":{"login":${request}}}`)
  const frame = readFrame(joined)
  if (frame.kind === 'result') return frame
  throw fault('a result is a result')
}
