// What a client is told where servers are down.

import { problemOf } from './instructions.js'
import type { ErrorBody } from '../../jsonrpc/build.js'
import { noUpstream, upstreamFailed } from '../../mcp/error-codes.js'
import type { ListKind } from '../../mcp/methods/method-row.js'
import type { CallTarget } from '../../upstream/contracts/upstream.js'

/** Why no server can be used, or can list: an empty list would look as if there were nothing. */
export function refusalOfAll(lanes: readonly CallTarget[], kind: ListKind): ErrorBody | undefined {
  const [only, ...others] = lanes
  if (only === undefined || !lanes.every((lane) => cannotList(lane, kind))) return undefined
  if (others.length > 0)
    return noUpstream(lanes.map((lane) => ({ service: lane.config.name, problem: problemOf(lane) })))
  return only.view.failure && (only.view.failure.body ?? unavailable(only))
}

function cannotList(lane: CallTarget, kind: ListKind): boolean {
  return !lane.known.has(kind) && lane.view.items(kind).length === 0 && lane.view.failure !== undefined
}

/** A server that has never said what it has is down, even while it is being tried again. */
export function isDown(lane: CallTarget, kind: ListKind): boolean {
  return !lane.known.has(kind) || (lane.view.state === 'error' && lane.view.failure?.body !== undefined)
}

/** Why this server cannot be used. */
export function unavailable({ config: { name }, view }: CallTarget): ErrorBody {
  const why = view.failure === undefined ? `'${name}' is not available` : `'${name}': ${view.failure.message}`
  const isLate = view.failure?.body === undefined && view.failure?.reason === 'timeout'
  return upstreamFailed(name, isLate ? 'timeout' : 'unavailable', why)
}

/** Whether a server that has said what it has may be asked for a resource. */
export function hasResources({ view }: CallTarget): boolean {
  return view.facts?.capabilities.resources === true
}
