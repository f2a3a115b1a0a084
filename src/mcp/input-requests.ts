// The input that a server requests before it continues a call, and the answers.
//
// MCP 2026-07-28, Multi Round-Trip Requests: the result names the input, and the client repeats the request
// with the answers and with the state of the server, which only the server can read.

import type { RequestFrame, ResultFrame } from '../jsonrpc/frame.js'
import { toLine } from '../jsonrpc/line.js'
import { type Members, membersAt, membersOf } from '../jsonrpc/members.js'
import type { Span } from '../jsonrpc/scan.js'
import { type Edit, NO_EDITS, splice } from '../jsonrpc/splice.js'
import { onOneLine, quote, rawAt, stringAt } from '../jsonrpc/text.js'
import { objectIn } from '../text/json-object.js'
import type { CallContext } from './client-context.js'
import { type ClientCapabilities, hasCapability } from './capabilities.js'
import { cutNamed, insertMembers } from './member-edits.js'
import { serverRequests } from './methods.js'

export interface InputRequest {
  /** The server's key of the request as raw JSON, quotes included. */
  readonly key: string
  readonly method: string
  readonly params: string
}

type Question = Pick<InputRequest, 'method' | 'params'>

/** The content of an `InputRequiredResult`. */
export interface InputRequests {
  readonly requests: readonly InputRequest[]
  /** The `requestState` as raw JSON, quotes included. */
  readonly state: string | undefined
}

/** Reads an `InputRequiredResult`; returns a text that describes its fault, if it has one. */
export function inputRequests({ line, members: result }: ResultFrame): InputRequests | string {
  const why = stateFault(line, result)
  if (why !== undefined) return why
  const stateSpan = result?.span('requestState')
  const span = result?.span('inputRequests')
  const state = stateSpan && rawAt(line, stateSpan)
  if (span === undefined) return { requests: [], state }
  const members = membersAt(line, span)
  if (members === undefined) return 'its inputRequests are no object'
  const requests: InputRequest[] = []
  for (const { key, value } of members) {
    const request = inputRequest(line, key, value)
    if (request === undefined) return `its inputRequests have ${rawAt(line, key)}, which is no request`
    requests.push(request)
  }
  return { requests, state }
}

/** Describes the fault of an `InputRequiredResult` that no client could answer. */
export function stateFault(line: Buffer, members: Members | undefined): string | undefined {
  const span = members?.span('requestState')
  if (span !== undefined)
    return stringAt(line, span) === undefined ? 'its requestState is no string' : undefined
  const asks = members?.span('inputRequests') !== undefined
  return asks ? undefined : 'it has neither inputRequests nor requestState'
}

function inputRequest(line: Buffer, key: Span, value: Span): InputRequest | undefined {
  const members = membersAt(line, value)
  const method = members?.string('method')
  if (members === undefined || method === undefined || serverRequests.get(method) === undefined)
    return undefined
  const params = members.span('params')
  return { key: rawAt(line, key), method, params: params === undefined ? '{}' : rawAt(line, params) }
}

/** The capability that a request needs, and the part of it that the client must declare too. */
function needOf({ method, params }: Question): { readonly name: string; readonly part: string | undefined } {
  const name = serverRequests.get(method)?.capability ?? method
  const { mode, tools, toolChoice } = objectIn(params) ?? {}
  const hasTools = tools !== undefined || toolChoice !== undefined
  if (name === 'elicitation' && mode === 'url') return { name, part: 'url' }
  return { name, part: name === 'sampling' && hasTools ? 'tools' : undefined }
}

/** Why the proxy cannot send this request to the client; undefined if it can. */
export function whyUnaskable(
  question: Question,
  { revision, capabilities }: CallContext,
): string | undefined {
  const { method } = question
  const isKnown = revision.serverRequests.some((known) => known === method)
  if (!isKnown) return `revision ${revision.version} has no ${method}`
  if (isDeclared(question, capabilities)) return undefined
  const { name, part } = needOf(question)
  return `the client has not declared ${part === undefined ? name : `${name}.${part}`}, which ${method} needs`
}

export function questionOf({ method, line, params: { span } }: RequestFrame): Question {
  return { method, params: span === undefined ? '{}' : rawAt(line, span) }
}

/** Raw JSON of the client capabilities that a request needs. */
export function requiredCapabilities(question: Question): string {
  const { name, part = name === 'elicitation' ? 'form' : undefined } = needOf(question)
  return `{${quote(name)}:{${part === undefined ? '' : `${quote(part)}:{}`}}}`
}

export function isDeclared(question: Question, capabilities: ClientCapabilities): boolean {
  const { name, part } = needOf(question)
  return part === undefined ? capabilities.names.has(name) : hasCapability(capabilities, name, part)
}

/** The params for a client of a revision with sessions; `newId` makes the id of an elicitation by URL. */
export function paramsFor(
  { method, params }: InputRequest,
  { revision }: CallContext,
  newId: () => string,
): string {
  const members = method === 'elicitation/create' ? membersOf(params) : undefined
  const mode = members?.string('mode')
  if (members === undefined || mode === undefined) return params
  // 2025-11-25, Elicitation: an elicitation by URL has an id, which 2026-07-28 does not have.
  if (mode === 'url' && members.span('elicitationId') === undefined)
    return `${params.slice(0, -1)},"elicitationId":${quote(newId())}}`
  return revision.hasElicitationModes ? params : withoutMode(members)
}

/** 2025-06-18 has only forms, and no member `mode`. */
function withoutMode(members: Members): string {
  return splice(toLine(members.bytes), cutNamed(members, ['mode'], 'input')).toString()
}

/**
 * The edits that add answers to a repeated request.
 *
 * `responses` is the raw JSON of the object with all answers, and `state` that of the server's state. An
 * undefined one adds no member.
 */
export function inputEdits(
  { params: { span, members } }: RequestFrame,
  responses: string | undefined,
  state: string | undefined,
): readonly Edit[] {
  if (span === undefined) return []
  const given = Object.entries({ inputResponses: responses, requestState: state }).flatMap(([name, value]) =>
    value === undefined ? [] : [{ text: `"${name}":${onOneLine(value)}`, why: 'input' } as const],
  )
  return insertMembers(span.start, members, NO_EDITS, given)
}
