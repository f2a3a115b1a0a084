// What a stateless request says of itself in `_meta`.
//
// MCP 2026-07-28, Overview: `_meta`. Nothing of it holds for another request.

import type { ErrorBody } from '../../jsonrpc/build.js'
import type { NotificationFrame, RequestFrame } from '../../jsonrpc/frame.js'
import type { Span } from '../../jsonrpc/scan.js'
import type { StatelessContext } from '../call.js'
import { type ClientCapabilities, clientCapabilities } from '../capabilities.js'
import { clientInfo } from '../client-info.js'
import { invalidParams, unsupportedVersion } from '../error-codes.js'
import { requestMeta } from '../meta-keys.js'
import { severity } from '../methods/logging.js'
import { statelessRevision, statelessRevisions } from '../revisions.js'

/** Whether a message claims to be stateless: it names its revision, right or wrong. */
export function claims({ params }: RequestFrame | NotificationFrame): boolean {
  return params.metaSpan !== undefined && params.meta.span(requestMeta.version) !== undefined
}

export type ContextRead =
  | { readonly kind: 'context'; readonly context: StatelessContext }
  | { readonly kind: 'refused'; readonly error: ErrorBody }

/** The context that a request brings, or why it is refused. */
export function readContext(frame: RequestFrame, principal: string): ContextRead {
  const { meta } = frame.params
  const version = meta.string(requestMeta.version)
  if (version === undefined) return refused(requestMeta.version, 'a string')
  const capabilities = capabilitiesOf(frame)
  if (capabilities === undefined) return refused(requestMeta.capabilities, 'an object')
  const logLevel = meta.string(requestMeta.logLevel)
  const isLevel = meta.span(requestMeta.logLevel) === undefined || severity(logLevel) >= 0
  if (!isLevel) return refused(requestMeta.logLevel, 'a log level')
  const revision = statelessRevision(version)
  if (revision === undefined) {
    const supported = statelessRevisions.map((each) => each.version)
    return { kind: 'refused', error: unsupportedVersion(version, supported) }
  }
  const info = infoOf(frame)
  return { kind: 'context', context: { principal, revision, capabilities, logLevel, info } }
}

function refused(key: string, what: string): ContextRead {
  const parameter = `_meta.${key}`
  return { kind: 'refused', error: invalidParams(`'${parameter}' must be ${what}`, { parameter }) }
}

/** Undefined where there is no object. */
function capabilitiesOf(frame: RequestFrame): ClientCapabilities | undefined {
  const span = frame.params.meta.span(requestMeta.capabilities)
  const bytes = span && bytesAt(frame, span)
  return bytes?.[0] === OPEN_OBJECT ? clientCapabilities(bytes, { start: 0, end: bytes.length }) : undefined
}

function infoOf(frame: RequestFrame): StatelessContext['info'] {
  const span = frame.params.meta.span(requestMeta.info)
  const bytes = span && bytesAt(frame, span)
  return bytes && clientInfo(bytes, { start: 0, end: bytes.length })
}

const OPEN_OBJECT = 0x7b

/** A long message is not joined for a few of its bytes. */
function bytesAt(frame: RequestFrame, { start, end }: Span): Buffer {
  return frame.long === undefined ? frame.line.subarray(start, end) : frame.long.slice(start, end)
}
