// What a stateless request says of itself in `_meta`.
//
// MCP 2026-07-28, Overview: `_meta`. Nothing of it holds for another request.

import type { ErrorBody } from '../../jsonrpc/build.js'
import type { RequestFrame } from '../../jsonrpc/frame.js'
import type { Span } from '../../jsonrpc/scan.js'
import type { StatelessContext } from '../call.js'
import { clientCapabilities, noCapabilities } from '../capabilities.js'
import { clientInfo } from '../client-info.js'
import { invalidParams, methodNotFound, unsupportedVersion } from '../error-codes.js'
import { requestMeta } from '../meta-keys.js'
import { severity, statelessRequests } from '../methods.js'
import { latestStateless, statelessRevision, statelessRevisions } from '../revisions.js'

/** The revision that a request names; empty where that is no text. */
export function claimedVersion({ params }: RequestFrame): string {
  return params.meta.string(requestMeta.version) ?? ''
}

/** What is missing of what a request has to say of itself, or is of the wrong type. */
export function claimFault(frame: RequestFrame): ErrorBody | undefined {
  const { meta } = frame.params
  if (meta.string(requestMeta.version) === undefined) return mistyped(requestMeta.version, 'a string')
  const capabilities = bytesOf(frame, requestMeta.capabilities)
  if (capabilities?.[0] !== OPEN_OBJECT) return mistyped(requestMeta.capabilities, 'an object')
  const isLevel =
    meta.span(requestMeta.logLevel) === undefined || severity(meta.string(requestMeta.logLevel)) >= 0
  return isLevel ? undefined : mistyped(requestMeta.logLevel, 'a log level')
}

/** The revision is none that may be named. */
export function versionFault(frame: RequestFrame): ErrorBody | undefined {
  const version = claimedVersion(frame)
  const supported = statelessRevisions.map((each) => each.version)
  return supported.includes(version) ? undefined : unsupportedVersion(version, supported)
}

/** The revision has no such request. */
export function methodFault({ method }: RequestFrame): ErrorBody | undefined {
  return statelessRequests.get(method) === undefined ? methodNotFound(method) : undefined
}

/** The context that a request without a fault brings. */
export function statelessContext(
  frame: RequestFrame,
  { principal, isSeveral }: Pick<StatelessContext, 'principal' | 'isSeveral'>,
): StatelessContext {
  const { meta } = frame.params
  const revision = statelessRevision(claimedVersion(frame)) ?? latestStateless
  const capabilities = bytesOf(frame, requestMeta.capabilities)
  const info = bytesOf(frame, requestMeta.info)
  return {
    principal,
    isSeveral,
    revision,
    capabilities:
      capabilities === undefined
        ? noCapabilities
        : clientCapabilities(capabilities, all(capabilities), revision),
    logLevel: meta.string(requestMeta.logLevel),
    info: info && clientInfo(info, all(info)),
  }
}

/** Longer words are not compared with those of the request before. */
const SAID_LENGTH_MAX = 4096

/** All that a request says of itself, as it is written; undefined where that is long. */
export function saidIn(frame: RequestFrame): string | undefined {
  const { meta, metaSpan } = frame.params
  if (metaSpan === undefined) return undefined
  const { line } = frame
  let said = ''
  // Members side by side are taken together; nearly always these are all of them.
  for (let index = 0, first = 0; index < meta.size; index = first) {
    while (first < meta.size && isReserved(line, meta.key(first).start)) first++
    if (first > index) {
      const [{ start }, { end }] = [meta.key(index), meta.value(first - 1)]
      if (end - start > SAID_LENGTH_MAX) return undefined
      said += line.toString('latin1', start, end)
    } else first++
  }
  return said
}

/** Whether a key begins as those do that say something of the request, and few others. */
function isReserved(line: Buffer, key: number): boolean {
  return line[key + 1] === LETTER_I && line[key + 2] === LETTER_O && line[key + 3] === DOT
}

const LETTER_I = 0x69
const LETTER_O = 0x6f
const DOT = 0x2e

function mistyped(key: string, what: string): ErrorBody {
  const parameter = `_meta.${key}`
  return invalidParams(`'${parameter}' must be ${what}`, { parameter })
}

const OPEN_OBJECT = 0x7b

/** A member of `_meta`. */
function bytesOf(frame: RequestFrame, key: string): Buffer | undefined {
  const span = frame.params.meta.span(key)
  return span && frame.line.subarray(span.start, span.end)
}

function all(bytes: Buffer): Span {
  return { start: 0, end: bytes.length }
}
