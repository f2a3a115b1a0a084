// The interface of an era to all other folders: how servers are opened and spoken to, and what clients get to know of them.

import type { RequestFrame, ResponseFrame, ResultFrame } from '../../jsonrpc/frame.js'
import { type Line, toLine } from '../../jsonrpc/line.js'
import { membersOf } from '../../jsonrpc/members.js'
import type { Edit } from '../../jsonrpc/splice.js'
import { quote } from '../../jsonrpc/text.js'
import type { Call, Outcome } from '../call.js'
import { type ClientCapabilities, type ServerCapabilities, serverCapabilities } from '../capabilities.js'
import type { Revision } from '../revisions.js'

/** The name and version of the proxy, for clients and servers. */
export interface ServerIdentity {
  readonly name: string
  readonly version: string
}

/** The same as raw JSON. */
export function identityJson({ name, version }: ServerIdentity): string {
  return `{"name":${quote(name)},"version":${quote(version)}}`
}

/** The servers behind the proxy, as one description for a client. */
export interface ServerDescription {
  /** Raw JSON. */
  readonly capabilities: string
  readonly instructions: string | undefined
  /** Whether all servers have said what they are. */
  readonly isKnown: boolean
}

/** The content of a server's answer to `initialize`. */
export interface ServerFacts {
  readonly revision: Revision
  readonly capabilities: ServerCapabilities
  readonly instructions: string | undefined
  /** The answer as the server wrote it, from which `recall` reads the facts again. */
  readonly handshake: Uint8Array
}

/** The facts in the answer of a server that has been opened. */
export function factsIn(handshake: Line, revision: Revision): ServerFacts {
  const members = membersOf(handshake)
  return {
    revision,
    capabilities: serverCapabilities(handshake, members?.span('capabilities'), revision),
    instructions: members?.string('instructions'),
    handshake,
  }
}

/** The result of an answer, copied out of its message. */
export function handshakeOf({ line, result }: ResultFrame): Line {
  return toLine(line.subarray(result.start, result.end))
}

/** Why a server cannot be opened, from its answer to the first request. */
export function refusalOf(frame: ResponseFrame, method: string): string {
  const { start, end } = frame.kind === 'error' ? frame.error : frame.result
  return `it answered ${method} with ${frame.line.toString('utf8', start, end)}`
}

/** How it was found out in which era a server is spoken to. */
export type EraEvidence =
  /** The configuration names it. */
  | 'configured'
  /** It has described itself. */
  | 'described'
  /** Its description lists no stateless revision. */
  | 'unlisted'
  /** It has refused to describe itself. */
  | 'refused'
  /** It did not answer. */
  | 'silent'
  /** It has ended on the question. */
  | 'ended'
  /** One of the last two, at an earlier start of the proxy. */
  | 'kept'

/** A server that takes calls. */
export interface OpenedServer {
  readonly kind: 'opened'
  readonly facts: ServerFacts
  readonly evidence: EraEvidence
}

/** How a server answers an attempt to open it. */
export type Opened =
  | OpenedServer
  | { readonly kind: 'refused'; readonly why: string }
  /** It has ended on the question which revisions it speaks; it is to be started anew and not asked. */
  | { readonly kind: 'ended' }

/** The result of a request that a server may not know. */
export type Probed =
  | { readonly kind: 'answered'; readonly answer: ResponseFrame }
  /** Nothing yet; `late` resolves when an answer comes after all. */
  | { readonly kind: 'silent'; readonly late: Promise<ResponseFrame> }
  /** The transport says that the server does not take it. */
  | { readonly kind: 'refused' }
  /** The server has ended. */
  | { readonly kind: 'ended' }

/** A result by which a server asks for input before it goes on with the call. */
export interface InputRequired {
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

/** The few things that a leg says to a server by itself; `params` is raw JSON. */
export interface ServerVoice {
  /** The revision of its only client, where it has one. */
  readonly clientVersion?: string | undefined
  ask(method: string, params: string): Promise<ResponseFrame>
  /** Asks what the server may not know; rejects where nothing can be told from what happens. */
  probe(method: string, params: string): Promise<Probed>
  /** Sends a client's own request, with these edits and an id of the connection. */
  pass(frame: RequestFrame, edits: readonly Edit[]): Promise<ResponseFrame>
  notify(method: string): void
}

/** Remembers the era of one server from one connection to the next. */
export interface EraMemory {
  /** How the server writes its messages; undefined where it is to be asked. */
  readonly era: Revision['era'] | undefined
  /** How that was found out. */
  readonly evidence: EraEvidence | undefined
  /** Why the handshake comes before the question, which got no answer earlier; the question follows a refused handshake. */
  shyness: (EraEvidence & ('silent' | 'ended' | 'kept')) | undefined
  /** It has been opened so. */
  learned(era: Revision['era'], evidence: EraEvidence): void
  /** The remembered era does not hold any more. */
  forgot(): void
}

/** How one server of an era is opened. */
export interface ServerLeg {
  /** How it is spoken to, as it was opened. */
  readonly speech: ServerSpeech
  /**
   * Makes the server ready for calls, declaring what its clients can be asked.
   *
   * `opening` is the request by which its one client has opened a session: where there is one, it is what the server
   * is opened with, and the server's answer settles it.
   */
  open(voice: ServerVoice, declared: ClientCapabilities, opening?: Call): Promise<Opened>
  /** The facts of an earlier start; undefined when they cannot be read. */
  recall(handshake: Uint8Array): ServerFacts | undefined
}

/** How a server of an era is spoken to. */
export interface ServerSpeech {
  /**
   * The edits of the client's request for this server: the parts that it must not see, and those that it needs in addition.
   *
   * Asked again each time the call is sent.
   */
  edits(call: Call): readonly Edit[]
  /** The params of a request of the proxy's own, as this server has to see them; raw JSON. */
  params(own: string, isAboutTasks?: boolean): string
  /** The meaning of an answer for its call: nearly always the end, in the form in which this server writes results. */
  outcome(call: Call, frame: ResponseFrame): Outcome | InputRequired | Outdated
}
