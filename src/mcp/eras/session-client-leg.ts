// A client of the revisions with sessions: `initialize` first, then a session.
//
// MCP 2024-11-05 to 2025-11-25, Lifecycle. A client that never initializes but
// simply calls is served too, as one that can be asked nothing.

import { type ErrorBody, buildError, buildResult } from '../../jsonrpc/build.js'
import type { NotificationFrame, RequestFrame } from '../../jsonrpc/frame.js'
import { membersAt } from '../../jsonrpc/members.js'
import type { RequestId } from '../../jsonrpc/request-id.js'
import { type WireBytes, bothEdits } from '../../jsonrpc/splice.js'
import { quote } from '../../jsonrpc/text.js'
import type { Call, ClientOrigin, CallContext, Outcome } from '../call.js'
import { clientInfo } from '../capabilities.js'
import { clientCapabilities, noCapabilities } from '../capabilities.js'
import {
  inputRefused,
  invalidParams,
  invalidRequest,
  methodNotFound,
  missingParameter,
} from '../error-codes.js'
import type { RequestRow } from '../methods.js'
import { clientNotifications, extensionRow, requests, severity } from '../methods.js'
import { assumedRevision, sessionRevision, latestSession } from '../revisions.js'
import { bareAnswer } from './results.js'
import {
  type Answer,
  type ClientLeg,
  type ClientVoice,
  type Received,
  type ServerDescription,
  type ServerIdentity,
  type ReceivedNotification,
  identityJson,
} from './leg.js'

/** The session state of one client. */
export class SessionClientLeg implements ClientLeg {
  readonly #identity: ServerIdentity
  readonly #isTransparent: boolean
  profile: CallContext
  #initialized = false
  #shutDown = false

  /**
   * A client that never initializes speaks the revision that its origin names.
   *
   * With `isTransparent` its `initialize` is to reach the one server behind the proxy.
   */
  constructor(identity: ServerIdentity, origin: ClientOrigin, isTransparent: boolean) {
    const { version, principal } = origin
    this.#identity = identity
    this.#isTransparent = isTransparent
    const revision = sessionRevision(version) ?? assumedRevision
    this.profile = { origin, principal, revision, capabilities: noCapabilities }
  }

  get batching(): boolean {
    return this.profile.revision.batching
  }

  received(frame: RequestFrame): Received {
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

  receivedNotification(frame: NotificationFrame): ReceivedNotification {
    const row = clientNotifications.get(frame.method)
    if (row === undefined) return { kind: 'unknown' }
    if (row.does === 'exit') return { kind: 'exit', exitCode: this.#shutDown ? 0 : 1 }
    return { kind: 'known', row }
  }

  answer(call: Call, outcome: Outcome, voice: ClientVoice): Answer | undefined {
    const { service, frame } = call
    const { id } = frame
    switch (outcome.kind) {
      case 'answered':
        return outcome.era === 'session'
          ? { kind: outcome.frame.kind, message: voice.answerBytes(outcome.frame, outcome.edits, id) }
          : this.#untyped(call, outcome, voice)
      case 'result':
        return { kind: 'result', message: buildResult(id, outcome.result) }
      case 'asked':
        // A client with a session is asked during the call.
        return { kind: 'error', message: this.refusal(id, inputRefused(service ?? '')) }
      case 'failed':
        return { kind: 'error', message: this.refusal(id, outcome.error) }
      case 'cancelled':
        return undefined
    }
  }

  /** The answer of a server that writes its results with a type. */
  #untyped(
    call: Call,
    { frame, edits }: Outcome & { readonly kind: 'answered' },
    voice: ClientVoice,
  ): Answer {
    const { id } = call.frame
    const told = bareAnswer(call, frame)
    switch (told.kind) {
      case 'edited':
        return { kind: frame.kind, message: voice.answerBytes(frame, bothEdits(edits, told.edits), id) }
      case 'result':
        return { kind: 'result', message: buildResult(id, told.result) }
      case 'error':
        return { kind: 'error', message: this.refusal(id, told.error) }
    }
  }

  refusal(id: RequestId | undefined, error: ErrorBody): WireBytes {
    return buildError(id, error, this.profile.revision.orphanId)
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
}
