// Writes requests to servers of each era, and reads their answers.

import type { RequestFrame, ResponseFrame, ResultFrame } from '../../jsonrpc/frame.js'
import { toLine } from '../../jsonrpc/line.js'
import { membersAt, membersOf } from '../../jsonrpc/members.js'
import { type Edit, NO_EDITS, splice } from '../../jsonrpc/splice.js'
import { quote } from '../../jsonrpc/text.js'
import type { Call, Outcome } from '../../calls/call.js'
import {
  type ClientCapabilities,
  type ServerIdentity,
  identityJson,
  noCapabilities,
  notRelayed,
  tasksRequired,
} from '../capabilities.js'
import { numberOfError, statelessRefusal } from '../error-codes.js'
import { cutNamed } from '../member-edits.js'
import { type MetaMembers, requestEdits } from '../meta-edits.js'
import { inputMembers, requestMeta, requestMetaKeys } from '../meta-keys.js'
import { typeNamed } from '../result-type.js'
import { latestStateless } from '../revisions.js'

/** A result by which a server asks for input before it continues the call. */
interface InputRequired {
  readonly kind: 'input-required'
  readonly frame: ResultFrame
}

/** A refusal because the proxy's facts about the server are outdated. The server has not begun the call. */
export interface Outdated {
  readonly kind: 'outdated'
  /** The fact to read again: the lists of the server, or its era. */
  readonly what: 'lists' | 'era'
  /** The outcome if the server refuses the call a second time. */
  readonly outcome: Outcome
}

export interface ServerWriter {
  /**
   * The edits of the client's request for this server: they cut parts that the server must not see, and add
   * parts that it needs. Called each time the call is sent; `own` are further members of `_meta`.
   */
  edits(call: Call, own?: readonly MetaMembers[]): readonly Edit[]
  /** The params of a request of the proxy itself, in the form for this server; raw JSON. */
  params(own: string, isAboutTasks?: boolean): string
  /** The meaning of an answer: nearly always the end of the call, in the era of this server. */
  outcome(frame: ResponseFrame): Outcome | InputRequired | Outdated
}

const ofStateless: MetaMembers = { text: '', names: requestMetaKeys, why: 'meta' }

/** Writes to a server with sessions, without the members that only stateless servers get. */
export const sessionWriter: ServerWriter = {
  edits: (call, own = []) =>
    call.context.revision.era === 'session'
      ? requestEdits(call, NO_EDITS, own)
      : edits(call, own, ofStateless),
  params: (own) => own,
  outcome: (frame) => ({ kind: 'answered', frame, edits: NO_EDITS, era: 'session' }),
}

/** The edits for a server of the other era, with these members of `_meta`, without answers of the client. */
function edits(call: Call, own: readonly MetaMembers[], given: MetaMembers): readonly Edit[] {
  return requestEdits(call, cutNamed(call.frame.params.members, inputMembers, 'input'), [...own, given])
}

const INPUT_REQUIRED = 'input_required'

/** The capabilities of the proxy in its own requests about a task. */
const ownTasks: ClientCapabilities = { json: tasksRequired, names: new Set(['extensions']) }

/** The members of `_meta` for one client, with its log level. */
interface MetaTemplate extends MetaMembers {
  readonly level: string | undefined
}

/**
 * Writes to a stateless server: every request names its revision and the capabilities of its client (MCP
 * 2026-07-28, Base Protocol). The server gets only such requests, and their cancellation on stdio.
 */
export class StatelessWriter implements ServerWriter {
  readonly #info: string
  readonly #onOutdated: () => void
  /** The members for each client, which are built once. */
  readonly #written = new WeakMap<ClientCapabilities, MetaTemplate>()
  hasTasks = false

  /** Calls `onOutdated` when the server refuses the revision that it accepted before. */
  constructor(identity: ServerIdentity, onOutdated: () => void) {
    this.#info = identityJson(identity)
    this.#onOutdated = onOutdated
  }

  edits(call: Call, own: readonly MetaMembers[] = []): readonly Edit[] {
    const { capabilities, logLevel, revision } = call.context
    if (revision.era === 'session') return edits(call, own, this.#template(capabilities, logLevel))
    const hasExtensions = capabilities.names.has('extensions')
    const cuts = hasExtensions ? withoutExtensions(call.frame, this.hasTasks) : NO_EDITS
    return requestEdits(call, cuts, own)
  }

  params(own: string, isAboutTasks = false): string {
    const { text } = this.#template(isAboutTasks ? ownTasks : noCapabilities, undefined)
    const meta = `"_meta":{${text}}`
    return own === '{}' ? `{${meta}}` : `{${meta},${own.slice(1)}`
  }

  outcome(frame: ResponseFrame): Outcome | InputRequired | Outdated {
    if (frame.kind === 'result' && typeNamed(frame) === INPUT_REQUIRED)
      return { kind: 'input-required', frame }
    const outcome = { kind: 'answered', frame, edits: NO_EDITS, era: 'stateless' } as const
    const refusal = frame.kind === 'error' ? statelessRefusal(numberOfError(frame)) : undefined
    if (refusal === 'header') return { kind: 'outdated', what: 'lists', outcome }
    if (refusal !== 'version') return outcome
    this.#onOutdated()
    return { kind: 'outdated', what: 'era', outcome }
  }

  #template(capabilities: ClientCapabilities, level: string | undefined): MetaTemplate {
    const known = this.#written.get(capabilities)
    if (known !== undefined && known.level === level) return known
    const { version, capabilities: can, info, logLevel } = requestMeta
    const wanted = level === undefined ? '' : `,"${logLevel}":${quote(level)}`
    const text = `"${version}":${quote(latestStateless.version)},"${can}":${declared(capabilities)},"${info}":${this.#info}${wanted}`
    const template = { level, text, names: requestMetaKeys, why: 'meta' } as const
    this.#written.set(capabilities, template)
    return template
  }
}

/** The capabilities of the client, without a member that has a meaning only in a session. */
function declared({ json }: ClientCapabilities): string {
  const line = toLine(json)
  const roots = membersAt(line, membersOf(line)?.span('roots'))
  return roots === undefined ? json : splice(line, cutNamed(roots, ['listChanged'], 'meta')).toString()
}

/** A stateless request passes, except for extensions that the proxy does not relay. */
function withoutExtensions({ line, params: { meta } }: RequestFrame, hasTasks: boolean): readonly Edit[] {
  const members = membersAt(line, meta.span(requestMeta.capabilities))
  const extensions = membersAt(line, members?.span('extensions'))
  return extensions === undefined ? NO_EDITS : cutNamed(extensions, notRelayed(hasTasks), 'meta')
}
