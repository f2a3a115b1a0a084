// One client, which may speak either era, message by message.
//
// MCP 2026-07-28, Versioning: a server may serve both eras at once on one connection. A request that names a revision in
// `_meta` is stateless; every other belongs to the session (MCP 2024-11-05 to 2025-11-25, Lifecycle). A client that never
// initializes but simply calls is served too, as one that can be asked nothing.

import type { Message } from '../../jsonrpc/splice.js'
import { type ErrorBody, buildError } from '../../jsonrpc/build.js'
import type { NotificationFrame, RequestFrame } from '../../jsonrpc/frame.js'
import { membersAt } from '../../jsonrpc/members.js'
import type { RequestId } from '../../jsonrpc/request-id.js'
import { quote } from '../../jsonrpc/text.js'
import type { Outcome } from '../../calls/call.js'
import type { CallContext, StatelessContext } from '../client-context.js'
import {
  type ServerIdentity,
  clientCapabilities,
  clientInfo,
  declaresTasks,
  identityJson,
  noCapabilities,
  tasksRequired,
} from '../capabilities.js'
import {
  invalidParams,
  invalidRequest,
  methodNotFound,
  missingCapability,
  missingParameter,
} from '../error-codes.js'
import { SERVER_INFO, namesRevision } from '../meta-keys.js'
import {
  type ClientNotificationRow,
  type RequestRow,
  clientNotifications,
  extensionRow,
  requests,
  severity,
  statelessRequests,
} from '../methods.js'
import { assumedRevision, latestSession, sessionRevision, statelessRevisions } from '../revisions.js'
import { type SubscriptionFilter, isFilter, readFilter } from '../subscription-edits.js'
import {
  type RequestSender,
  metaFault,
  reservedMeta,
  statelessContext,
  versionFault,
} from './request-context.js'

/** The servers behind the proxy, as one description for a client. */
export interface ServerDescription {
  /** Raw JSON. */
  readonly capabilities: string
  readonly instructions: string | undefined
  /** Whether all servers have said what they are. */
  readonly isKnown: boolean
}

/** The meaning of a client's request. */
export type Received =
  /** To be routed. */
  | { readonly kind: 'call'; readonly row: RequestRow }
  /** To be routed, for a client that has said with the request itself what it is. */
  | {
      readonly kind: 'stateless'
      readonly row: RequestRow
      readonly context: StatelessContext
      /** The changes that the client gets while the request stays open. */
      readonly filter?: SubscriptionFilter
    }
  /** Answered with what is behind the proxy; `reply` makes the answer. */
  | {
      readonly kind: 'discover'
      readonly context: StatelessContext
      readonly reply: (description: ServerDescription) => string
    }
  /** Answered with an empty result. */
  | { readonly kind: 'ping' }
  /** Answered with an empty result when the calls before it are answered; nothing is to come but the end. */
  | { readonly kind: 'shutdown' }
  /** The session opens; `reply` makes the answer from what is behind the proxy. */
  | {
      readonly kind: 'open'
      readonly row: RequestRow
      readonly reply: (description: ServerDescription) => string
      /** Gets the outcome, if the request is to reach the one server behind the proxy. */
      readonly passed: ((outcome: Outcome) => void) | undefined
    }
  /** The client wants log messages from this level on. */
  | { readonly kind: 'level'; readonly level: string }
  | { readonly kind: 'refused'; readonly error: ErrorBody }

/** The meaning of a client's notification to its session. */
export type ReceivedNotification =
  | { readonly kind: 'known'; readonly row: ClientNotificationRow }
  /** The client ends the session; the exit code says whether it asked for a shutdown before. */
  | { readonly kind: 'exit'; readonly exitCode: number }
  | { readonly kind: 'unknown' }

/** A reload changes the servers, and stateless clients get no notification of it. */
const DESCRIPTION_TTL_MS = 60_000

/** Reads the messages of one client: the state of its session, and what its latest stateless request said of it. */
export class ClientLeg {
  readonly #identity: ServerIdentity
  readonly #sender: RequestSender
  readonly #isTransparent: boolean
  /** The client, as far as its session is known. */
  profile: CallContext
  #initialized = false
  #shutDown = false
  /** The `_meta` of the latest stateless request, and its context. */
  #latestMeta: string | undefined
  #context: StatelessContext | undefined

  /**
   * A client that never initializes speaks the revision that its origin names.
   *
   * With `isTransparent` its `initialize` is to reach the one server behind the proxy.
   */
  constructor(identity: ServerIdentity, sender: RequestSender, isTransparent: boolean) {
    const { origin } = sender
    this.#identity = identity
    this.#sender = sender
    this.#isTransparent = isTransparent
    const revision = sessionRevision(origin?.version) ?? assumedRevision
    this.profile = { origin, principal: origin?.principal, revision, capabilities: noCapabilities }
  }

  received(frame: RequestFrame): Received {
    // Without a revision in `_meta`, a request that only stateless clients have is told what is missing.
    const isStateless = namesRevision(frame) || statelessRequests.get(frame.method)?.route.to === 'proxy'
    return isStateless ? this.#receivedStateless(frame) : this.#receivedInSession(frame)
  }

  receivedNotification(frame: NotificationFrame): ReceivedNotification {
    const row = clientNotifications.get(frame.method)
    if (row === undefined) return { kind: 'unknown' }
    if (row.does === 'exit') return { kind: 'exit', exitCode: this.#shutDown ? 0 : 1 }
    return { kind: 'known', row }
  }

  /** An error in place of an answer; `id` is undefined if the request had no readable one. */
  refusal(id: RequestId | undefined, error: ErrorBody): Message {
    return buildError(id, error, this.profile.revision.orphanId)
  }

  #receivedStateless(frame: RequestFrame): Received {
    const meta = reservedMeta(frame)
    // Most requests say what the one before has said, which was found to be right.
    const known = meta === undefined || meta !== this.#latestMeta ? undefined : this.#context
    const fault = known === undefined ? (metaFault(frame) ?? versionFault(frame)) : undefined
    if (fault !== undefined) return { kind: 'refused', error: fault }
    const row = statelessRequests.get(frame.method) ?? extensionRow(frame.method)
    if (row === undefined) return { kind: 'refused', error: methodNotFound(frame.method) }
    const context = known ?? statelessContext(frame, this.#sender)
    this.#latestMeta = meta
    this.#context = context
    if (row.stays === true) return listening(frame, row, context)
    if (row.route.to !== 'proxy') return { kind: 'stateless', row, context }
    return { kind: 'discover', context, reply: (description) => this.#discoverResult(description) }
  }

  #receivedInSession(frame: RequestFrame): Received {
    const row = requests.get(frame.method) ?? extensionRow(frame.method)
    if (row === undefined) return { kind: 'refused', error: methodNotFound(frame.method) }
    if (row.route.to !== 'proxy') return { kind: 'call', row }
    switch (frame.method) {
      case 'initialize':
        return this.#initialize(frame, row)
      case 'logging/setLevel':
        return this.#setLevel(frame)
      case 'shutdown':
        this.#shutDown = true
        return { kind: 'shutdown' }
      default:
        return { kind: 'ping' }
    }
  }

  #initialize(frame: RequestFrame, row: RequestRow): Received {
    if (this.#initialized) {
      return { kind: 'refused', error: invalidRequest('the session is initialized already') }
    }
    const { members } = frame.params
    const version = members.string('protocolVersion')
    if (version === undefined) {
      return { kind: 'refused', error: missingParameter('protocolVersion') }
    }
    this.#initialized = true
    // An unknown version is answered with one we speak, never with an error.
    const revision = sessionRevision(version) ?? latestSession
    this.profile = {
      ...this.profile,
      revision,
      hasTasks: revision.tasks,
      capabilities: clientCapabilities(frame.line, members.span('capabilities'), revision),
      info: clientInfo(frame.line, members.span('clientInfo')),
    }
    return {
      kind: 'open',
      row,
      reply: (description) => this.#initializeResult(description),
      passed: this.#isTransparent ? (outcome) => this.#passed(outcome) : undefined,
    }
  }

  /** Servers without a session get the level with every request. */
  #setLevel(frame: RequestFrame): Received {
    const level = frame.params.members.string('level')
    if (level !== undefined && severity(level) >= 0) {
      this.profile = { ...this.profile, logLevel: level }
      return { kind: 'level', level }
    }
    const error =
      level === undefined
        ? missingParameter('level')
        : invalidParams(`'${level}' is no log level`, { parameter: 'level' })
    return { kind: 'refused', error }
  }

  /** The revision that the server has chosen holds for both sides; a client that was refused may begin anew. */
  #passed(outcome: Outcome): void {
    // A stateless server chooses nothing.
    if (outcome.kind === 'result') return
    const frame = outcome.kind === 'answered' && outcome.frame.kind === 'result' ? outcome.frame : undefined
    const chosen = frame && membersAt(frame.line, frame.result)?.string('protocolVersion')
    const revision = sessionRevision(chosen)
    if (revision === undefined) this.#initialized = false
    else this.profile = { ...this.profile, revision }
  }

  #initializeResult({ capabilities, instructions }: ServerDescription): string {
    const info = identityJson(this.#identity)
    const tail = instructions === undefined ? '' : `,"instructions":${quote(instructions)}`
    const revision = quote(this.profile.revision.version)
    return `{"protocolVersion":${revision},"capabilities":${capabilities},"serverInfo":${info}${tail}}`
  }

  #discoverResult({ capabilities, instructions, isKnown }: ServerDescription): string {
    const supported = statelessRevisions.map((each) => quote(each.version)).join(',')
    const words = instructions === undefined ? '' : `"instructions":${quote(instructions)},`
    const hints = `"ttlMs":${isKnown ? DESCRIPTION_TTL_MS : 0},"cacheScope":"private"`
    const info = `"_meta":{${quote(SERVER_INFO)}:${identityJson(this.#identity)}}`
    return `{"resultType":"complete","supportedVersions":[${supported}],"capabilities":${capabilities},${words}${hints},${info}}`
  }
}

function listening(frame: RequestFrame, row: RequestRow, context: StatelessContext): Received {
  const filter = readFilter(frame)
  if (!isFilter(filter)) return { kind: 'refused', error: filter }
  if (filter.tasks.length > 0 && !declaresTasks(context.capabilities))
    return { kind: 'refused', error: missingCapability(tasksRequired) }
  return { kind: 'stateless', row, context, filter }
}
