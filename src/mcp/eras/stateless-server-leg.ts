// A stateless server: every request says which revision it is of, and what its client can be asked.
//
// MCP 2026-07-28, Base Protocol. Nothing is written to it but such requests, and their cancellation on stdio.

import type { ErrorFrame, ResponseFrame, ResultFrame } from '../../jsonrpc/frame.js'
import { type Line, toLine } from '../../jsonrpc/line.js'
import { itemsAt, membersAt, membersOf } from '../../jsonrpc/members.js'
import type { Span } from '../../jsonrpc/scan.js'
import { type Edit, NO_EDITS, splice } from '../../jsonrpc/splice.js'
import { quote, rawAt, stringAt } from '../../jsonrpc/text.js'
import type { Call, Outcome } from '../call.js'
import { type ClientCapabilities, capabilityEdits, TASKS } from '../capabilities.js'
import { numberOfError, statelessRefusal } from '../error-codes.js'
import { SERVER_INFO } from '../meta-keys.js'
import { typeNamed } from '../result-type.js'
import { latestSession, latestStateless, statelessRevision } from '../revisions.js'
import { Claims } from './request-context.js'
import {
  type InputRequired,
  type Opened,
  type Outdated,
  type Probed,
  type ServerFacts,
  type ServerIdentity,
  type ServerLeg,
  type ServerSpeech,
  type ServerVoice,
  factsIn,
  handshakeOf,
  refusalOf,
} from './leg.js'

const DISCOVER = 'server/discover'

/** Speaks to one server; what it learns is in the `ServerFacts`. */
export class StatelessServerLeg implements ServerLeg, ServerSpeech {
  readonly speech: ServerSpeech = this
  readonly #claims: Claims
  readonly #hasChanged: () => void
  /** Whether the server has the extension Tasks. */
  #hasTasks = false

  /** `hasChanged` is called when the server refuses the revision that it spoke before. */
  constructor(identity: ServerIdentity, hasChanged = (): void => {}) {
    this.#claims = new Claims(identity)
    this.#hasChanged = hasChanged
  }

  async open(voice: ServerVoice, _declared: ClientCapabilities, opening?: Call): Promise<Opened> {
    return this.opened(await this.discover(voice), opening)
  }

  /** Asks what the server is, and which revisions it speaks. */
  discover(voice: ServerVoice): Promise<ResponseFrame> {
    return voice.ask(DISCOVER, this.params('{}'))
  }

  /** The same of a server that may not know the question. */
  probe(voice: ServerVoice): Promise<Probed> {
    return voice.probe(DISCOVER, this.params('{}'))
  }

  /** Opens the server with its answer to `server/discover`. */
  opened(answer: ResponseFrame, opening: Call | undefined): Opened {
    const spoken = spokenIn(answer)
    if (answer.kind === 'error' || spoken.kind !== 'ours')
      return { kind: 'refused', why: spoken.kind === 'neither' ? spoken.why : refusalOf(answer, DISCOVER) }
    const description = handshakeOf(answer)
    opening?.settle({ kind: 'result', result: handshakeFor(opening, description) })
    const facts = factsIn(description, latestStateless)
    this.#hasTasks = facts.capabilities.extensions.has(TASKS)
    return { kind: 'opened', facts, evidence: 'configured' }
  }

  recall(handshake: Uint8Array): ServerFacts | undefined {
    const description = toLine(handshake)
    const isDescription = membersOf(description)?.span('supportedVersions') !== undefined
    return isDescription ? factsIn(description, latestStateless) : undefined
  }

  edits(call: Call): readonly Edit[] {
    return this.#claims.edits(call, this.#hasTasks)
  }

  params(own: string, isAboutTasks = false): string {
    return this.#claims.own(own, isAboutTasks)
  }

  outcome(_call: Call, frame: ResponseFrame): Outcome | InputRequired | Outdated {
    if (frame.kind === 'result' && wantsInput(frame)) return { kind: 'input-required', frame }
    const outcome = { kind: 'answered', frame, edits: NO_EDITS, era: 'stateless' } as const
    const refusal = frame.kind === 'error' ? statelessRefusal(numberOfError(frame)) : undefined
    switch (refusal) {
      case 'header':
        return { kind: 'outdated', what: 'lists', outcome }
      case 'version':
        this.#hasChanged()
        return { kind: 'outdated', what: 'era', outcome }
      case 'capability':
      case undefined:
        return outcome
    }
  }
}

const WANTS_INPUT = 'input_required'

function wantsInput(frame: ResultFrame): boolean {
  return typeNamed(frame) === WANTS_INPUT
}

/** The answer to the `initialize` of a client that sees the server without the proxy's names. */
function handshakeFor({ client }: Call, description: Line): string {
  const members = membersOf(description)
  const info = membersAt(description, members?.span('_meta'))?.span(SERVER_INFO)
  const capabilities = members?.span('capabilities')
  const instructions = members?.span('instructions')
  const said = [
    `"protocolVersion":${quote(client.profile.revision.version)}`,
    `"capabilities":${capabilities === undefined ? '{}' : shownAt(description, capabilities)}`,
    `"serverInfo":${info === undefined ? '{"name":"","version":""}' : rawAt(description, info)}`,
    ...(instructions === undefined ? [] : [`"instructions":${rawAt(description, instructions)}`]),
  ]
  return `{${said.join(',')}}`
}

function shownAt(description: Line, { start, end }: Span): string {
  const own = toLine(description.subarray(start, end))
  return splice(own, capabilityEdits(own, { start: 0, end: own.length }, false)).toString()
}

// The revisions that a server speaks, from its answer to `server/discover`.
//
// MCP 2026-07-28, stdio and Streamable HTTP, Backward Compatibility. No single error number decides: servers that begin
// with a handshake refuse a question that they do not know in many ways.

/** The revisions of a server, as far as its answer tells. */
export type Spoken =
  /** A stateless one that this proxy speaks too. */
  | { readonly kind: 'ours'; readonly isAnswered: boolean }
  /** It begins with a handshake. */
  | { readonly kind: 'handshake' }
  /** It has no handshake, and cannot be spoken to. */
  | { readonly kind: 'neither'; readonly why: string }

/** The meaning of an answer to `server/discover`; `isAnswered` says that it is the description itself. */
export function spokenIn(answer: ResponseFrame): Spoken {
  if (answer.kind === 'error') return spokenInError(answer)
  const members = membersAt(answer.line, answer.result)
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
