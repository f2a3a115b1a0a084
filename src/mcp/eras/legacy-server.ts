// A server of the handshake revisions: `initialize` once for the life of its connection.
//
// MCP 2024-11-05 to 2025-11-25, Lifecycle.

import type { ResponseFrame, ResultFrame } from '../../jsonrpc/frame.js'
import { membersAt } from '../../jsonrpc/members.js'
import { Scanner } from '../../jsonrpc/scan.js'
import { quote } from '../../jsonrpc/text.js'
import type { Call, Outcome } from '../call.js'
import { type ClientCapabilities, serverCapabilities } from '../capabilities.js'
import { handshakeRevision, handshakeRevisions, latestHandshake } from '../revisions.js'
import type { ServerIdentity } from './legacy-client.js'
import type { Opened, ServerLeg, ServerVoice } from './leg.js'

const NONE = [] as const

/** Speaks to one server; holds nothing, since everything it learns is in the facts. */
export class LegacyServerLeg implements ServerLeg {
  readonly #identity: ServerIdentity

  constructor(identity: ServerIdentity) {
    this.#identity = identity
  }

  async open(voice: ServerVoice, declared: ClientCapabilities): Promise<Opened> {
    const { name, version } = this.#identity
    const info = `{"name":${quote(name)},"version":${quote(version)}}`
    const offered = quote(latestHandshake.version)
    const answer = await voice.ask(
      'initialize',
      `{"protocolVersion":${offered},"capabilities":${declared.json},"clientInfo":${info}}`,
    )
    if (answer.kind === 'error') return { kind: 'refused', why: refusal(answer) }
    const opened = readResult(answer)
    if (opened.kind === 'opened') voice.notify('notifications/initialized')
    return opened
  }

  outcome(_call: Call, frame: ResponseFrame): Outcome {
    return { kind: 'answered', frame, edits: NONE }
  }
}

function readResult(frame: ResultFrame): Opened {
  const members = membersAt(new Scanner(frame.line, Number.MAX_SAFE_INTEGER), frame.result)
  const version = members?.string('protocolVersion')
  const revision = handshakeRevision(version)
  if (members === undefined || revision === undefined) {
    const known = handshakeRevisions.map((each) => each.version).join(', ')
    return {
      kind: 'refused',
      why: `it speaks protocol version '${version ?? ''}'; this proxy speaks ${known}`,
    }
  }
  return {
    kind: 'opened',
    facts: {
      revision,
      capabilities: serverCapabilities(frame.line, members.span('capabilities')),
      instructions: members.string('instructions'),
    },
  }
}

function refusal(frame: ResponseFrame & { readonly kind: 'error' }): string {
  return `it answered initialize with ${frame.line.toString('utf8', frame.error.start, frame.error.end)}`
}
