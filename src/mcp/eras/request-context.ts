// The parsed `_meta` of a stateless request (MCP 2026-07-28, Overview: `_meta`). It applies to that request
// only.

import { OPEN_OBJECT } from '../../jsonrpc/ascii.js'
import type { ErrorBody } from '../../jsonrpc/build.js'
import type { RequestFrame } from '../../jsonrpc/frame.js'
import type { StatelessContext } from '../client-context.js'
import { clientCapabilities, clientInfo } from '../capabilities.js'
import { methodNotFound, mistyped, unsupportedVersion } from '../error-codes.js'
import { requestMeta, requestMetaKeys } from '../meta-keys.js'
import { extensionRow, severity, statelessRequests } from '../methods.js'
import { latestStateless, statelessRevision, statelessRevisions } from '../revisions.js'

/** The revision that a request names; empty if it is no text. */
export function namedVersion({ params }: RequestFrame): string {
  return params.meta.string(requestMeta.version) ?? ''
}

/** The error for the first required member of `_meta` that is missing or of the wrong type. */
export function metaFault(frame: RequestFrame): ErrorBody | undefined {
  const { meta } = frame.params
  if (meta.string(requestMeta.version) === undefined)
    return mistyped(`_meta.${requestMeta.version}`, 'a string')
  const capabilities = meta.span(requestMeta.capabilities)
  if (capabilities === undefined || frame.line[capabilities.start] !== OPEN_OBJECT)
    return mistyped(`_meta.${requestMeta.capabilities}`, 'an object')
  const isLevel =
    meta.span(requestMeta.logLevel) === undefined || severity(meta.string(requestMeta.logLevel)) >= 0
  return isLevel ? undefined : mistyped(`_meta.${requestMeta.logLevel}`, 'a log level')
}

export function versionFault(frame: RequestFrame): ErrorBody | undefined {
  const version = namedVersion(frame)
  const supported = statelessRevisions.map((each) => each.version)
  return supported.includes(version) ? undefined : unsupportedVersion(version, supported)
}

export function methodFault({ method }: RequestFrame): ErrorBody | undefined {
  const row = statelessRequests.get(method) ?? extensionRow(method)
  return row === undefined ? methodNotFound(method) : undefined
}

/** The facts of a client that its requests do not carry. */
export type RequestSender = Pick<StatelessContext, 'origin' | 'principal'>

export function statelessContext(
  frame: RequestFrame,
  { origin, principal }: RequestSender,
): StatelessContext {
  const { meta } = frame.params
  const revision = statelessRevision(namedVersion(frame)) ?? latestStateless
  return {
    origin,
    principal,
    isSeveral: origin?.isSeveral === true,
    revision,
    capabilities: clientCapabilities(frame.line, meta.span(requestMeta.capabilities), revision),
    logLevel: meta.string(requestMeta.logLevel),
    info: clientInfo(frame.line, meta.span(requestMeta.info)),
  }
}

/** A request with longer members is not compared with the previous request. */
const META_LENGTH_MAX = 4096

/** The members of `_meta` that describe the client, as raw text; undefined if one of them is too long. */
export function reservedMeta({ line, params: { meta } }: RequestFrame): string | undefined {
  const texts: string[] = []
  for (const name of requestMetaKeys) {
    const { start, end } = meta.span(name) ?? { start: 0, end: 0 }
    if (end - start > META_LENGTH_MAX) return undefined
    texts.push(line.toString('latin1', start, end))
  }
  return texts.join('\n')
}
