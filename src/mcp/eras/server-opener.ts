// Opens a server and finds out its era, and declares the interface of an era to all other folders.
//
// MCP 2024-11-05 to 2025-11-25, Lifecycle: `initialize`, once for the life of a connection. MCP 2026-07-28,
// stdio and Streamable HTTP, Backward Compatibility: the proxy asks a server of an unknown era on the same
// connection, never in a second process, because a server may hold a lock. Later connections reuse the
// result.

import type { ErrorFrame, RequestFrame, ResponseFrame, ResultFrame } from '../../jsonrpc/frame.js'
import { type Line, toLine } from '../../jsonrpc/line.js'
import { itemsAt, membersAt, membersOf } from '../../jsonrpc/members.js'
import type { Span } from '../../jsonrpc/scan.js'
import { type Edit, splice } from '../../jsonrpc/splice.js'
import { quote, rawAt, stringAt } from '../../jsonrpc/text.js'
import { errorText } from '../../text/error-text.js'
import type { Call, Outcome } from '../../calls/call.js'
import {
  TASKS,
  type ClientCapabilities,
  type ServerCapabilities,
  type ServerIdentity,
  capabilityEdits,
  identityJson,
  serverCapabilities,
} from '../capabilities.js'
import { numberOfError, statelessRefusal } from '../error-codes.js'
import { SERVER_INFO } from '../meta-keys.js'
import {
  type Revision,
  latestSession,
  latestStateless,
  sessionRevision,
  sessionRevisions,
  statelessRevision,
} from '../revisions.js'
import { type ServerWriter, sessionWriter, StatelessWriter } from './server-writers.js'

/** The content of a server's answer to `initialize`. */
export interface ServerFacts {
  readonly revision: Revision
  readonly capabilities: ServerCapabilities
  readonly instructions: string | undefined
  /** The answer as the server wrote it, from which `recalledFacts` reads the facts again. */
  readonly handshake: Uint8Array
}

/** How the proxy has found out the era of a server. */
export type EraEvidence =
  | 'configured'
  /** The server has described itself. */
  | 'described'
  /** The description of the server lists no stateless revision. */
  | 'unlisted'
  /** The server has refused to describe itself. */
  | 'refused'
  | 'silent'
  /** The server has ended on the question. */
  | 'ended'
  /** `silent` or `ended`, at an earlier start of the proxy. */
  | 'kept'

export interface OpenedServer {
  readonly kind: 'opened'
  readonly facts: ServerFacts
  readonly evidence: EraEvidence
  readonly writer: ServerWriter
}

export type Opened =
  | OpenedServer
  | { readonly kind: 'refused'; readonly why: string }
  /** The server has ended on the question which revisions it speaks. The next process must not be asked. */
  | { readonly kind: 'ended' }

/** The result of a request that a server may not know. */
export type Probed =
  | { readonly kind: 'answered'; readonly answer: ResponseFrame }
  /** The server has not answered in time; `late` resolves if it answers after all. */
  | { readonly kind: 'silent'; readonly late: Promise<ResponseFrame> }
  /** The transport reports that the server does not accept the request. */
  | { readonly kind: 'refused' }
  | { readonly kind: 'ended' }

/** The era of one server. Each connection passes it on to the next. */
export interface EraMemory {
  /** Undefined if the server must be asked. */
  readonly era: Revision['era'] | undefined
  readonly evidence: EraEvidence | undefined
  /** Why the handshake comes first: the question failed earlier. The question follows a refused handshake. */
  probeFailure: (EraEvidence & ('silent' | 'ended' | 'kept')) | undefined
  storeEra(era: Revision['era'], evidence: EraEvidence): void
  /** Drops the stored era, which is no longer true. */
  forgetEra(): void
}

/** One attempt to make a server ready for calls, on a new connection. */
export interface Opening {
  /** The capabilities of the clients that the server can ask. */
  readonly declared: ClientCapabilities
  /**
   * The `initialize` of the server's one client, where clients open the server themselves. The proxy opens
   * the server with it, and the server's answer settles it.
   */
  readonly request: Call | undefined
  /** The revision of the server's only client, if it has only one. */
  readonly clientVersion: string | undefined
  /** Sends a request of the proxy itself; `params` is raw JSON. */
  ask(method: string, params: string): Promise<ResponseFrame>
  /** Sends a request that the server may not know; rejects if the outcome proves nothing about the server. */
  probe(method: string, params: string): Promise<Probed>
  /** Forwards a client's request, with these edits and an id of the connection. */
  pass(frame: RequestFrame, edits: readonly Edit[]): Promise<ResponseFrame>
  notify(method: string): void
}

/** The configured protocol of a server; `revision` is one that begins with a handshake. */
export interface ConfiguredEra {
  readonly protocol: 'auto' | 'handshake' | 'stateless'
  readonly revision?: string | undefined
}

/** Opens servers for the proxy; `memory` belongs to the server. */
export type OpenServer = (config: ConfiguredEra, memory: EraMemory, opening: Opening) => Promise<Opened>

export function serverOpener(identity: ServerIdentity): OpenServer {
  return ({ protocol, revision }, memory, opening) => {
    const opener = new ServerOpener(identity, memory, opening, revision)
    switch (protocol) {
      case 'handshake':
        return opener.shakeHands()
      case 'stateless':
        return opener.describe()
      case 'auto':
        return opener.detect()
    }
  }
}

const INITIALIZE = 'initialize'
const DISCOVER = 'server/discover'

class ServerOpener {
  readonly #identity: ServerIdentity
  readonly #memory: EraMemory
  readonly #opening: Opening
  readonly #offered: string
  readonly #writer: StatelessWriter
  /** The answer to the question, if it came after its time limit. */
  #lateAnswer: ResponseFrame | undefined

  constructor(
    identity: ServerIdentity,
    memory: EraMemory,
    opening: Opening,
    offered: string = latestSession.version,
  ) {
    this.#identity = identity
    this.#memory = memory
    this.#opening = opening
    this.#offered = offered
    this.#writer = new StatelessWriter(identity, () => memory.forgetEra())
  }

  // A server whose era the configuration does not name.

  async detect(): Promise<Opened> {
    const memory = this.#memory
    const { era, evidence = 'refused', probeFailure } = memory
    if (era === 'stateless') return this.#openStateless()
    if (era === 'session') return this.#openSession(evidence)
    if (probeFailure !== undefined) return this.#openSession(probeFailure, true)
    const probed = await this.#probe()
    switch (probed.kind) {
      case 'answered':
        return this.#answered(probed.answer)
      case 'refused':
        return this.#openSession('refused')
      case 'silent':
        memory.probeFailure = 'silent'
        this.#learnLate(probed.late)
        return this.#openSession('silent')
      case 'ended':
        memory.probeFailure = 'ended'
        return { kind: 'ended' }
    }
  }

  async #answered(answer: ResponseFrame): Promise<Opened> {
    const spoken = spokenIn(answer)
    switch (spoken.kind) {
      case 'handshake':
        return this.#openSession(answer.kind === 'error' ? 'refused' : 'unlisted')
      case 'ours':
        return this.#openStateless(spoken.isAnswered ? answer : undefined)
      case 'neither':
        return { kind: 'refused', why: spoken.why }
    }
  }

  /**
   * `description` is the server's answer to `server/discover`, if it has come already.
   *
   * A failure does not turn a stateless server into one with sessions. The attempt fails, and the next
   * connection asks the server again.
   */
  async #openStateless(description?: ResponseFrame): Promise<Opened> {
    this.#memory.forgetEra()
    const opened = await this.describe(description)
    if (opened.kind !== 'opened') return opened
    this.#memory.storeEra('stateless', 'described')
    return { ...opened, evidence: 'described' }
  }

  /**
   * With `asksAfterwards`, the proxy asks a server that refuses the handshake, since it may want none. It
   * does not ask a server twice on one connection, but passes on the refusal immediately.
   */
  async #openSession(evidence: EraEvidence, asksAfterwards = false): Promise<Opened> {
    const opened = await this.shakeHands()
    if (opened.kind !== 'opened') {
      const probed = asksAfterwards ? await this.#probe().catch(() => undefined) : undefined
      const answer = probed?.kind === 'answered' ? probed.answer : this.#lateAnswer
      const isOurs = answer !== undefined && spokenIn(answer).kind === 'ours'
      return isOurs ? this.#answered(answer) : opened
    }
    // A late description does not change the era of an open connection.
    if (this.#memory.era === undefined) this.#memory.storeEra('session', evidence)
    return { ...opened, evidence }
  }

  /** A late description is for the next connection, or for this one if the server refuses the handshake. */
  #learnLate(late: Promise<ResponseFrame>): void {
    const onAnswer = (answer: ResponseFrame): void => {
      this.#lateAnswer = answer
      this.#memory.probeFailure = undefined
      if (spokenIn(answer).kind === 'ours') this.#memory.storeEra('stateless', 'described')
    }
    late.then(onAnswer, () => undefined)
  }

  #probe(): Promise<Probed> {
    return this.#opening.probe(DISCOVER, this.#writer.params('{}'))
  }

  // A stateless server.

  async describe(given?: ResponseFrame): Promise<Opened> {
    const { request } = this.#opening
    const answer = given ?? (await this.#opening.ask(DISCOVER, this.#writer.params('{}')))
    const spoken = spokenIn(answer)
    if (answer.kind === 'error' || spoken.kind !== 'ours')
      return { kind: 'refused', why: spoken.kind === 'neither' ? spoken.why : refusalOf(answer, DISCOVER) }
    const description = handshakeOf(answer)
    request?.settle({ kind: 'result', result: handshakeFor(request, description) })
    const facts = factsIn(description, latestStateless)
    this.#writer.hasTasks = facts.capabilities.extensions.has(TASKS)
    return { kind: 'opened', facts, evidence: 'configured', writer: this.#writer }
  }

  // A server with sessions.

  async shakeHands(): Promise<Opened> {
    const { request } = this.#opening
    const answer = request === undefined ? await this.#agree() : await this.#passed(request)
    const opened: Opened =
      answer.kind === 'error'
        ? { kind: 'refused', why: refusalOf(answer, INITIALIZE) }
        : readHandshake(handshakeOf(answer))
    // The client gets no answer with a revision that the proxy does not speak.
    if (answer.kind === 'error' || opened.kind === 'opened') request?.settle(passedOn(answer))
    if (opened.kind === 'opened') this.#opening.notify('notifications/initialized')
    return opened
  }

  /** Forwards a client's `initialize` without capabilities that the proxy cannot relay. */
  #passed({ frame }: Call): Promise<ResponseFrame> {
    const edits = capabilityEdits(frame.line, frame.params.members.span('capabilities'), false)
    return this.#opening.pass(frame, edits)
  }

  /** Offers a revision. If the server refuses it, offers an older one, once. */
  async #agree(): Promise<ResponseFrame> {
    const older = (refusal: string): string | undefined =>
      olderVersion(refusal, this.#offered, this.#opening.clientVersion)
    try {
      const answer = await this.#offer(this.#offered)
      const version = answer.kind === 'error' ? older(refusalOf(answer, INITIALIZE)) : undefined
      return version === undefined ? answer : await this.#offer(version)
    } catch (error) {
      // Over HTTP a refusal may be a status with a text.
      const version = older(errorText(error))
      if (version === undefined) throw error
      return this.#offer(version)
    }
  }

  #offer(version: string): Promise<ResponseFrame> {
    const info = identityJson(this.#identity)
    const params = `{"protocolVersion":${quote(version)},"capabilities":${this.#opening.declared.json},"clientInfo":${info}}`
    return this.#opening.ask(INITIALIZE, params)
  }
}

/** The newest revision in a refusal, else the client's, else the first; undefined for other refusals. */
function olderVersion(refusal: string, refused: string, client: string | undefined): string | undefined {
  const named = sessionRevisions.filter(({ version }) => refusal.includes(version))
  if (named.length === 0 && !/protocol.?version/i.test(refusal)) return undefined
  const [first] = sessionRevisions
  const candidates = [first, sessionRevision(client), ...named].flatMap((each) => each?.version ?? [])
  return candidates.findLast((version) => version !== refused)
}

/** The answer for the client, without capabilities that its revision does not have. */
function passedOn(frame: ResponseFrame): Outcome {
  const members = frame.kind === 'error' ? undefined : frame.members
  const hasTasks = sessionRevision(members?.string('protocolVersion'))?.hasTasks === true
  const edits = capabilityEdits(frame.line, members?.span('capabilities'), hasTasks)
  return { kind: 'answered', frame, edits, era: 'session' }
}

function readHandshake(handshake: Line): Opened {
  const version = membersOf(handshake)?.string('protocolVersion')
  const revision = sessionRevision(version)
  if (revision !== undefined)
    return {
      kind: 'opened',
      evidence: 'configured',
      facts: factsIn(handshake, revision),
      writer: sessionWriter,
    }
  const known = sessionRevisions.map((each) => each.version).join(', ')
  return {
    kind: 'refused',
    why: `it speaks protocol version '${version ?? ''}'; this proxy speaks ${known}`,
  }
}

/** The answer to `initialize` for a client that sees the server without the proxy's names. */
function handshakeFor({ client }: Call, description: Line): string {
  const members = membersOf(description)
  const info = membersAt(description, members?.span('_meta'))?.span(SERVER_INFO)
  const capabilities = members?.span('capabilities')
  const instructions = members?.span('instructions')
  const parts = [
    `"protocolVersion":${quote(client.profile.revision.version)}`,
    `"capabilities":${capabilities === undefined ? '{}' : shownAt(description, capabilities)}`,
    `"serverInfo":${info === undefined ? '{"name":"","version":""}' : rawAt(description, info)}`,
    ...(instructions === undefined ? [] : [`"instructions":${rawAt(description, instructions)}`]),
  ]
  return `{${parts.join(',')}}`
}

function shownAt(description: Line, { start, end }: Span): string {
  const own = toLine(description.subarray(start, end))
  return splice(own, capabilityEdits(own, { start: 0, end: own.length }, false)).toString()
}

// The facts in the answer of a server that has been opened.

function factsIn(handshake: Line, revision: Revision): ServerFacts {
  const members = membersOf(handshake)
  return {
    revision,
    capabilities: serverCapabilities(handshake, members?.span('capabilities'), revision),
    instructions: members?.string('instructions'),
    handshake,
  }
}

/** Reads the facts of an earlier start; undefined if they are not readable. */
export function recalledFacts(handshake: Uint8Array): ServerFacts | undefined {
  const line = toLine(handshake)
  const members = membersOf(line)
  const isDescription = members?.span('supportedVersions') !== undefined
  const revision =
    sessionRevision(members?.string('protocolVersion')) ?? (isDescription ? latestStateless : undefined)
  return revision && factsIn(line, revision)
}

/** The result of an answer, copied out of its message. */
function handshakeOf({ line, result }: ResultFrame): Line {
  return toLine(line.subarray(result.start, result.end))
}

/** Why a server cannot be opened, from its answer to the first request. */
function refusalOf(frame: ResponseFrame, method: string): string {
  return `it answered ${method} with ${rawAt(frame.line, frame.kind === 'error' ? frame.error : frame.result)}`
}

// The revisions that a server speaks, from its answer to `server/discover`. No single error number decides: servers that
// begin with a handshake refuse an unknown request in many ways.

type Spoken =
  /** The server and the proxy share a stateless revision; `isAnswered`: the answer is the description. */
  | { readonly kind: 'ours'; readonly isAnswered: boolean }
  | { readonly kind: 'handshake' }
  /** The server has no handshake, and the proxy cannot use it. */
  | { readonly kind: 'neither'; readonly why: string }

function spokenIn(answer: ResponseFrame): Spoken {
  if (answer.kind === 'error') return spokenInError(answer)
  const members = answer.members
  const versions = textsAt(answer.line, members?.span('supportedVersions'))
  return versions.some(isOurs) ? { kind: 'ours', isAnswered: true } : { kind: 'handshake' }
}

function spokenInError(frame: ErrorFrame): Spoken {
  const { line, error } = frame
  switch (statelessRefusal(numberOfError(frame))) {
    case undefined:
      return { kind: 'handshake' }
    case 'header':
    case 'capability':
      return { kind: 'neither', why: `it refused server/discover with ${rawAt(line, error)}` }
    case 'version': {
      const data = membersAt(line, membersAt(line, error)?.span('data'))
      const versions = textsAt(line, data?.span('supported'))
      if (versions.some(isOurs)) return { kind: 'ours', isAnswered: false }
      if (versions.length === 0 || versions.some((version) => version <= latestSession.version))
        return { kind: 'handshake' }
      return { kind: 'neither', why: `it speaks only ${versions.join(', ')}, which this proxy does not` }
    }
  }
}

function isOurs(version: string): boolean {
  return statelessRevision(version) !== undefined
}

function textsAt(bytes: Buffer, span: Span | undefined): string[] {
  return itemsAt(bytes, span).flatMap((item) => stringAt(bytes, item) ?? [])
}
