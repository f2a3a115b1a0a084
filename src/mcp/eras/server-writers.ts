// How a server of each era is written to, and how its answers are read.

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

/** A result by which a server asks for input before it goes on with the call. */
interface InputRequired {
  readonly kind: 'input-required'
  readonly frame: ResultFrame
}

/** A refusal since what is known of the server does not hold any more: the call was not begun. */
export interface Outdated {
  readonly kind: 'outdated'
  /** The fact to find out anew: the lists of the server, or its era. */
  readonly what: 'lists' | 'era'
  /** The outcome of a call that is refused so for the second time. */
  readonly outcome: Outcome
}

export interface ServerWriter {
  /**
   * The edits of the client's request for this server: the parts that it must not see, and those that it needs in addition.
   *
   * Asked again each time the call is sent; `own` are further members of `_meta`.
   */
  edits(call: Call, own?: readonly MetaMembers[]): readonly Edit[]
  /** The params of a request of the proxy's own, as this server has to see them; raw JSON. */
  params(own: string, isAboutTasks?: boolean): string
  /** The meaning of an answer: nearly always the end of its call, in the form in which this server writes results. */
  outcome(frame: ResponseFrame): Outcome | InputRequired | Outdated
}

const ofStateless: MetaMembers = { text: '', names: requestMetaKeys, why: 'meta' }

/** A server with sessions gets no members that are only for stateless servers. */
export const sessionWriter: ServerWriter = {
  edits: (call, own = []) =>
    call.context.revision.era === 'session'
      ? requestEdits(call, NO_EDITS, own)
      : edits(call, own, ofStateless),
  params: (own) => own,
  outcome: (frame) => ({ kind: 'answered', frame, edits: NO_EDITS, era: 'session' }),
}

/** The edits for a server of the other era, with these members of `_meta`; answers of clients do not pass. */
function edits(call: Call, own: readonly MetaMembers[], given: MetaMembers): readonly Edit[] {
  return requestEdits(call, cutNamed(call.frame.params.members, inputMembers, 'input'), [...own, given])
}

const INPUT_REQUIRED = 'input_required'

/** The capabilities of the proxy when it asks about a task itself. */
const ownTasks: ClientCapabilities = { json: tasksRequired, names: new Set(['extensions']) }

/** The members of one client, with the level that it wants. */
interface MetaTemplate extends MetaMembers {
  readonly level: string | undefined
}

/**
 * A stateless server: every request says which revision it is of, and what its client can be asked (MCP 2026-07-28, Base
 * Protocol). Nothing is written to it but such requests, and their cancellation on stdio.
 */
export class StatelessWriter implements ServerWriter {
  readonly #info: string
  readonly #onOutdated: () => void
  /** The members of one client are written once. */
  readonly #written = new WeakMap<ClientCapabilities, MetaTemplate>()
  /** Whether the server has the extension Tasks. */
  hasTasks = false

  /** `onOutdated` is called when the server refuses the revision that it spoke before. */
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

/** The capabilities of the client, without the member that has a meaning only in a session. */
function declared({ json }: ClientCapabilities): string {
  const line = toLine(json)
  const roots = membersAt(line, membersOf(line)?.span('roots'))
  return roots === undefined ? json : splice(line, cutNamed(roots, ['listChanged'], 'meta')).toString()
}

/** The bytes of a stateless request pass, without extensions that do not. */
function withoutExtensions({ line, params: { meta } }: RequestFrame, hasTasks: boolean): readonly Edit[] {
  const members = membersAt(line, meta.span(requestMeta.capabilities))
  const extensions = membersAt(line, members?.span('extensions'))
  return extensions === undefined ? NO_EDITS : cutNamed(extensions, notRelayed(hasTasks), 'meta')
}
