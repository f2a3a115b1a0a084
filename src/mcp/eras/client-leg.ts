// One client, which may speak either era, message by message.
//
// MCP 2026-07-28, Versioning: a server may serve both eras on one connection. A request that names a revision
// in `_meta` is stateless; every other belongs to the session (MCP 2024-11-05 to 2025-11-25, Lifecycle). The
// proxy also serves a client that calls without `initialize`, but servers can ask such a client for nothing.

import type { Message } from '../../jsonrpc/splice.js'
import { type ErrorBody, buildError } from '../../jsonrpc/build.js'
import type { RequestFrame } from '../../jsonrpc/frame.js'
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
import { type RequestRow, extensionRow, requests, severity, statelessRequests } from '../methods.js'
import { assumedRevision, latestSession, sessionRevision, statelessRevisions } from '../revisions.js'
import { type SubscriptionFilter, isFilter, readFilter } from '../subscription-edits.js'
import {
  type RequestSender,
  metaFault,
  reservedMeta,
  statelessContext,
  versionFault,
} from './request-context.js'

/** The servers behind the proxy, described to a client as one server. */
export interface ServerDescription {
  readonly capabilities: string
  readonly instructions: string | undefined
  /** Whether all servers have described themselves. */
  readonly isKnown: boolean
}

export interface Received {
  readonly row: RequestRow
  /** The client as the request itself describes it; undefined for a request of the session. */
  readonly context: StatelessContext | undefined
}

/** Limited, because stateless clients get no notification when a reload changes the servers. */
const DESCRIPTION_TTL_MS = 60_000

/** Reads the messages of one client; keeps the state of its session, and its latest stateless context. */
export class ClientLeg {
  readonly #identity: ServerIdentity
  readonly #sender: RequestSender
  /** The facts of the client that its session has established. */
  profile: CallContext
  #initialized = false
  /** The `_meta` of the latest stateless request, and its context. */
  #latestMeta: string | undefined
  #context: StatelessContext | undefined

  /** A client that never initializes speaks the revision that its origin names. */
  constructor(identity: ServerIdentity, sender: RequestSender) {
    const { origin } = sender
    this.#identity = identity
    this.#sender = sender
    const revision = sessionRevision(origin?.version) ?? assumedRevision
    this.profile = { origin, principal: origin?.principal, revision, capabilities: noCapabilities }
  }

  /** Returns the row of a request and its context, or its error. */
  received(frame: RequestFrame): Received | ErrorBody {
    // A request that only stateless clients send, without a revision in `_meta`, gets an error that names what is missing.
    const isStateless = namesRevision(frame) || statelessRequests.get(frame.method)?.route.to === 'proxy'
    const context = isStateless ? this.#contextOf(frame) : undefined
    if (context !== undefined && 'code' in context) return context
    const known = isStateless ? statelessRequests : requests
    const row = known.get(frame.method) ?? extensionRow(frame.method)
    return row === undefined ? methodNotFound(frame.method) : { row, context }
  }

  /** Builds an error response; `id` is undefined if the request has no readable id. */
  refusal(id: RequestId | undefined, error: ErrorBody): Message {
    return buildError(id, error, this.profile.revision.orphanId)
  }

  /** Stores the facts of the client in `initialize`; returns the error of an invalid request. */
  initialize({ line, params: { members } }: RequestFrame): ErrorBody | undefined {
    if (this.#initialized) return invalidRequest('the session is initialized already')
    const version = members.string('protocolVersion')
    if (version === undefined) return missingParameter('protocolVersion')
    this.#initialized = true
    // The answer to an unknown version is the latest one of the proxy, never an error.
    const revision = sessionRevision(version) ?? latestSession
    this.profile = {
      ...this.profile,
      revision,
      hasTasks: revision.hasTasks,
      capabilities: clientCapabilities(line, members.span('capabilities'), revision),
      info: clientInfo(line, members.span('clientInfo')),
    }
    return undefined
  }

  /** Sets the lowest level of the client's log messages. Stateless servers get it with every request. */
  setLevel({ params }: RequestFrame): string | ErrorBody {
    const level = params.members.string('level')
    if (level === undefined) return missingParameter('level')
    if (severity(level) < 0) return invalidParams(`'${level}' is no log level`, { parameter: 'level' })
    this.profile = { ...this.profile, logLevel: level }
    return level
  }

  #contextOf(frame: RequestFrame): StatelessContext | ErrorBody {
    const meta = reservedMeta(frame)
    // Most requests repeat the `_meta` of the previous request, which was valid.
    if (meta !== undefined && meta === this.#latestMeta && this.#context !== undefined) return this.#context
    const fault = metaFault(frame) ?? versionFault(frame)
    if (fault !== undefined) return fault
    this.#latestMeta = meta
    this.#context = statelessContext(frame, this.#sender)
    return this.#context
  }

  /** Adopts the revision that the server chose. A client that its server refused may initialize again. */
  passed(outcome: Outcome): void {
    // A stateless server does not choose a revision.
    if (outcome.kind === 'result') return
    const frame = outcome.kind === 'answered' && outcome.frame.kind === 'result' ? outcome.frame : undefined
    const revision = sessionRevision(frame?.members?.string('protocolVersion'))
    if (revision === undefined) this.#initialized = false
    else this.profile = { ...this.profile, revision }
  }

  initializeResult({ capabilities, instructions }: ServerDescription): string {
    const info = identityJson(this.#identity)
    const tail = instructions === undefined ? '' : `,"instructions":${quote(instructions)}`
    const revision = quote(this.profile.revision.version)
    return `{"protocolVersion":${revision},"capabilities":${capabilities},"serverInfo":${info}${tail}}`
  }

  discoverResult({ capabilities, instructions, isKnown }: ServerDescription): string {
    const supported = statelessRevisions.map((each) => quote(each.version)).join(',')
    const words = instructions === undefined ? '' : `"instructions":${quote(instructions)},`
    const hints = `"ttlMs":${isKnown ? DESCRIPTION_TTL_MS : 0},"cacheScope":"private"`
    const info = `"_meta":{${quote(SERVER_INFO)}:${identityJson(this.#identity)}}`
    return `{"resultType":"complete","supportedVersions":[${supported}],"capabilities":${capabilities},${words}${hints},${info}}`
  }
}

/** The filter of `subscriptions/listen`, or the error of the request. */
export function listenFilter(frame: RequestFrame, context: StatelessContext): SubscriptionFilter | ErrorBody {
  const filter = readFilter(frame)
  const needsTasks = isFilter(filter) && filter.topics.some(({ kind }) => kind === 'taskIds')
  return needsTasks && !declaresTasks(context.capabilities) ? missingCapability(tasksRequired) : filter
}
