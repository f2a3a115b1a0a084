// The errors for servers that are down, and for names that no server has.

import { problemOf } from './description.js'
import type { ErrorBody } from '../../jsonrpc/build.js'
import {
  inputRefused,
  noUpstream,
  promptNotFound,
  saysResourceNotFound,
  toolNotFound,
  upstreamFailed,
} from '../../mcp/error-codes.js'
import type { ListKind } from '../../mcp/methods.js'
import type { CallTarget } from '../../upstream/contracts/upstream.js'
import type { Call, Outcome } from '../../mcp/call.js'
import { failToolCall } from '../../mcp/call-failures.js'
import { nearest } from '../../text/nearest.js'
import type { Catalog, Target } from './catalog.js'
import { membersAt } from '../../jsonrpc/members.js'
import { parse, rawAt } from '../../jsonrpc/text.js'

/** Why no server can be used, or can list: an empty list would look as if there were nothing. */
export function refusalOfAll(lanes: readonly CallTarget[], kind: ListKind): ErrorBody | undefined {
  const [only, ...others] = lanes
  if (only === undefined || !lanes.every((lane) => cannotList(lane, kind))) return undefined
  if (others.length > 0)
    return noUpstream(lanes.map((lane) => ({ service: lane.config.name, problem: problemOf(lane) })))
  return only.view.failure && (only.view.failure.body ?? unavailable(only))
}

function cannotList(lane: CallTarget, kind: ListKind): boolean {
  const { failure } = lane.view
  if (failure?.reason === 'changed') return true
  return !lane.known.has(kind) && lane.view.items(kind).length === 0 && failure !== undefined
}

/** A server that has never said what it has is down, even while it is being tried again. */
function isDown(lane: CallTarget, kind: ListKind): boolean {
  return !lane.known.has(kind) || (lane.view.state === 'error' && lane.view.failure?.body !== undefined)
}

/** Why this server cannot be used. */
function unavailable({ config: { name }, view }: CallTarget): ErrorBody {
  const why = view.failure === undefined ? `'${name}' is not available` : `'${name}': ${view.failure.message}`
  const isLate = view.failure?.body === undefined && view.failure?.reason === 'timeout'
  return upstreamFailed(name, isLate ? 'timeout' : 'unavailable', why)
}

const NEAREST_MAX = 3

/** Fails a call: the server that may have the name is down, or the error names those of the catalog that are like it. */
export function failUnknownName(
  call: Call,
  { kind, name }: { readonly kind: 'tools' | 'prompts'; readonly name: string },
  lanes: readonly CallTarget[],
  catalog: Catalog,
): void {
  const down = lanes.find((lane) => isDown(lane, kind) && catalog.mayHave(lane, name))
  if (down !== undefined) {
    call.service = down.config.name
    return call.fail(down.view.failure?.body ?? unavailable(down))
  }
  const names = catalog.shown(kind).map(({ publicName }) => publicName)
  const near = nearest(name, names, NEAREST_MAX)
  call.fail(kind === 'tools' ? toolNotFound(name, near) : promptNotFound(name, near))
}

/** Why a call of this name is refused: it is not as it was accepted. */
export function refusalOf({ item, lane }: Target): ErrorBody | undefined {
  if (item.withheld === undefined) return undefined
  return upstreamFailed(lane.config.name, 'changed', item.withheld)
}

/** Fails a call that goes on with the answers for a server which has gone. */
export function failBound(call: Call, service: string): void {
  failToolCall(call, inputRefused(service, 'another server has taken its place since'))
}

/** Whether the server has no such resource. */
export function isNotFound(outcome: Outcome): boolean {
  if (outcome.kind !== 'answered' || outcome.frame.kind !== 'error') return false
  const { line, error } = outcome.frame
  const code = membersAt(line, error)?.span('code')
  return code !== undefined && saysResourceNotFound(Number(parse(rawAt(line, code))))
}
