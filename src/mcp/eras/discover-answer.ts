// What a server's answer to `server/discover` says of the revisions that it speaks.
//
// MCP 2026-07-28, stdio and Streamable HTTP, Backward Compatibility. No single error number decides: servers that begin
// with a handshake refuse a question that they do not know in many ways.

import type { ErrorFrame, ResponseFrame } from '../../jsonrpc/frame.js'
import { itemsAt, membersAt } from '../../jsonrpc/members.js'
import type { Span } from '../../jsonrpc/scan.js'
import { rawAt, stringAt } from '../../jsonrpc/text.js'
import { numberOfError, statelessRefusal } from '../error-codes.js'
import { latestHandshake, statelessRevision } from '../revisions.js'

/** The revisions of a server, as far as its answer tells. */
export type Spoken =
  /** One without a handshake that this proxy speaks too. */
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
      if (versions.length === 0 || versions.some((version) => version <= latestHandshake.version))
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
