// A server of the revisions with sessions: `initialize` once for the life of its connection.
//
// MCP 2024-11-05 to 2025-11-25, Lifecycle.

import type { RequestFrame, ResponseFrame } from '../../jsonrpc/frame.js'
import { type Line, toLine } from '../../jsonrpc/line.js'
import { membersAt, membersOf } from '../../jsonrpc/members.js'
import { type Edit, NO_EDITS, bothEdits } from '../../jsonrpc/splice.js'
import { quote } from '../../jsonrpc/text.js'
import { errorText } from '../../text/error-text.js'
import type { Call, Outcome } from '../call.js'
import { capabilityEdits, type ClientCapabilities } from '../capabilities.js'
import { cutNamed } from '../member-edits.js'
import { inputMembers, requestMetaKeys } from '../meta-keys.js'
import { sessionRevision, sessionRevisions, latestSession } from '../revisions.js'
import {
  type Opened,
  type ServerFacts,
  type ServerIdentity,
  type ServerLeg,
  type ServerSpeech,
  type ServerVoice,
  factsIn,
  handshakeOf,
  identityJson,
  refusalOf,
} from './leg.js'

const INITIALIZE = 'initialize'

/** Speaks to one server; what it learns is in the `ServerFacts`. */
export class SessionServerLeg implements ServerLeg, ServerSpeech {
  readonly speech: ServerSpeech = this
  readonly #identity: ServerIdentity
  readonly #offered: string

  /** `offered` is the revision that the configuration names, if it names one. */
  constructor(identity: ServerIdentity, offered: string = latestSession.version) {
    this.#identity = identity
    this.#offered = offered
  }

  async open(voice: ServerVoice, declared: ClientCapabilities, opening?: Call): Promise<Opened> {
    const answer =
      opening === undefined
        ? await this.#agree(voice, declared)
        : await voice.pass(opening.frame, openingEdits(opening))
    const opened =
      answer.kind === 'error'
        ? { kind: 'refused' as const, why: refusalOf(answer, INITIALIZE) }
        : readHandshake(handshakeOf(answer))
    // The client gets no answer with a revision that the proxy does not speak.
    if (answer.kind === 'error' || opened.kind === 'opened') opening?.settle(passedOn(answer))
    if (opened.kind === 'opened') voice.notify('notifications/initialized')
    return opened
  }

  recall(handshake: Uint8Array): ServerFacts | undefined {
    const opened = readHandshake(toLine(handshake))
    return opened.kind === 'opened' ? opened.facts : undefined
  }

  edits({ context, frame }: Call): readonly Edit[] {
    return context.revision.era === 'session' ? NO_EDITS : this.#withoutStateless(frame)
  }

  params(own: string): string {
    return own
  }

  outcome(_call: Call, frame: ResponseFrame): Outcome {
    return { kind: 'answered', frame, edits: NO_EDITS, era: 'session' }
  }

  /** Removes the members of a stateless request that are only for stateless servers. */
  #withoutStateless({ params: { members, meta } }: RequestFrame): readonly Edit[] {
    return bothEdits(cutNamed(meta, requestMetaKeys, 'meta'), cutNamed(members, inputMembers, 'input'))
  }

  /** Offers a revision, and once more an older one where the server refuses the first. */
  async #agree(voice: ServerVoice, declared: ClientCapabilities): Promise<ResponseFrame> {
    const ask = (version: string): Promise<ResponseFrame> => this.#ask(voice, declared, version)
    const older = (refusal: string): string | undefined =>
      olderVersion(refusal, this.#offered, voice.clientVersion)
    try {
      const answer = await ask(this.#offered)
      const version = answer.kind === 'error' ? older(refusalOf(answer, INITIALIZE)) : undefined
      return version === undefined ? answer : await ask(version)
    } catch (error) {
      // Over HTTP a refusal may be a status with a text.
      const version = older(errorText(error))
      if (version === undefined) throw error
      return ask(version)
    }
  }

  #ask(voice: ServerVoice, declared: ClientCapabilities, version: string): Promise<ResponseFrame> {
    const info = identityJson(this.#identity)
    const params = `{"protocolVersion":${quote(version)},"capabilities":${declared.json},"clientInfo":${info}}`
    return voice.ask(INITIALIZE, params)
  }
}

/** The newest revision that a refusal names, else the client's, else the first one; undefined where it is about something else. */
function olderVersion(refusal: string, refused: string, client: string | undefined): string | undefined {
  const named = sessionRevisions.filter(({ version }) => refusal.includes(version))
  if (named.length === 0 && !/protocol.?version/i.test(refusal)) return undefined
  const [first] = sessionRevisions
  const candidates = [first, sessionRevision(client), ...named].flatMap((each) => each?.version ?? [])
  return candidates.findLast((version) => version !== refused)
}

/** Of a client's `initialize`: what the proxy cannot carry is not declared. */
function openingEdits({ frame }: Call): readonly Edit[] {
  return capabilityEdits(frame.line, frame.params.members.span('capabilities'), false)
}

/** The answer as the client gets it: what its revision does not have is not offered. */
function passedOn(frame: ResponseFrame): Outcome {
  const members = frame.kind === 'error' ? undefined : membersAt(frame.line, frame.result)
  const hasTasks = sessionRevision(members?.string('protocolVersion'))?.tasks === true
  const edits = capabilityEdits(frame.line, members?.span('capabilities'), hasTasks)
  return { kind: 'answered', frame, edits, era: 'session' }
}

/** The result of `initialize`. */
function readHandshake(handshake: Line): Opened {
  const version = membersOf(handshake)?.string('protocolVersion')
  const revision = sessionRevision(version)
  if (revision !== undefined)
    return { kind: 'opened', evidence: 'configured', facts: factsIn(handshake, revision) }
  const known = sessionRevisions.map((each) => each.version).join(', ')
  return {
    kind: 'refused',
    why: `it speaks protocol version '${version ?? ''}'; this proxy speaks ${known}`,
  }
}
