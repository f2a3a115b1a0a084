// From a call to the lane that answers it.

import type { ArgumentChecks } from './arguments.js'
import type { Catalog, SpliceItem, Target } from './catalog.js'
import { problemOf } from './down-line.js'
import type { ErrorBody } from '../../jsonrpc/build.js'
import { membersAt } from '../../jsonrpc/members.js'
import type { Span } from '../../jsonrpc/scan.js'
import type { Edit } from '../../jsonrpc/splice.js'
import { parse, rawAt, stringAt } from '../../jsonrpc/text.js'
import type { Call, Outcome } from '../../mcp/call.js'
import {
  invalidParams,
  promptNotFound,
  resourceNotFound,
  saysResourceNotFound,
  toolNeedsTask,
  toolNotFound,
  noUpstream,
  upstreamFailed,
} from '../../mcp/error-codes.js'
import type { ListKind } from '../../mcp/methods/method-row.js'
import { tellListProgress } from './list-progress.js'
import { NameWaits, type NameWaitsParts, mayHave } from './name-waits.js'
import { nearest } from '../../text/nearest.js'
import type { CallTarget } from '../../upstream/contracts/upstream.js'

/** The client whose calls a router routes. */
export interface RouterParts extends NameWaitsParts {
  /** Another one once servers were exchanged. */
  catalog(): Catalog
  readonly checks: ArgumentChecks
  readonly splice: SpliceItem
  readonly listPageBytesMax: number
  /** Tells the client how far a call of its own is; `params` is raw JSON. */
  progress(call: Call, params: string): void
  /** The client has been given this list. */
  gave(kind: ListKind): void
}

const NEAREST_MAX = 3

/** Routes the calls of one client. */
export class Router {
  readonly #parts: RouterParts
  /** Made for the first call that waits. */
  #waiting: NameWaits | undefined

  constructor(parts: RouterParts) {
    this.#parts = parts
  }

  /** Takes a call over; it is settled by the lane that gets it, or here. */
  route(call: Call): void {
    const { route } = call.row
    switch (route.to) {
      case 'name':
        return this.#byName(call, route.list)
      case 'uri':
        return this.#byUri(call)
      case 'reference':
        return this.#byReference(call)
      case 'merge':
        return this.#whenShown(call, route.list)
      case 'proxy':
        // The client's leg answers these itself.
        call.settle({ kind: 'result', result: '{}' })
    }
  }

  /** Other servers have taken the place of some. */
  exchanged(): void {
    this.#waiting?.look()
  }

  get #waits(): NameWaits {
    this.#waiting ??= new NameWaits(this.#parts)
    return this.#waiting
  }

  #byName(call: Call, kind: 'tools' | 'prompts'): void {
    const name = call.frame.params.members.string('name')
    if (name === undefined) return call.fail(missing('name'))
    const target = this.#parts.catalog().named(kind, name)
    // A name that is only known from an earlier start may be gone, or want other arguments.
    const isThere = target?.lane.knows(kind) === true && this.#waiting?.has(target.lane, kind) !== true
    if (target !== undefined && isThere) return this.#send(call, kind, target, name)
    const remembered = target?.lane.knows(kind) === false ? target.lane : undefined
    this.#waits.known(call, { kind, name, lane: remembered }, () => {
      const late = this.#parts.catalog().named(kind, name)
      if (late === undefined) return this.#unknownName(call, kind, name)
      // Another server has taken the place of the one that it waited for, and is only known from an earlier start too.
      if (late.lane !== remembered && !late.lane.knows(kind)) return this.#byName(call, kind)
      this.#send(call, kind, late, name)
    })
  }

  #send(call: Call, kind: 'tools' | 'prompts', target: Target, name: string): void {
    call.service = target.lane.config.name
    const edits = nameEdits(call.frame.params.members.span('name'), name, target)
    if (kind === 'prompts') return this.#toLane(call, target.lane, edits)
    if (target.item.needsTask) return call.fail(toolNeedsTask(name))
    call.times = target.times
    this.#parts.checks.check(call, target, () => this.#pass(call, target.lane, edits))
  }

  /** A call with nothing to check leaves behind those that are being checked. */
  #toLane(call: Call, lane: CallTarget, edits: readonly Edit[]): void {
    call.service = lane.config.name
    this.#parts.checks.turns.take(call, lane, undefined, () => this.#pass(call, lane, edits))
  }

  /** While the call waited for its turn, another server may have taken the place of this one. */
  #pass(call: Call, lane: CallTarget, edits: readonly Edit[]): void {
    if (lane.retired) this.route(call)
    else lane.call(call, edits)
  }

  #unknownName(call: Call, kind: 'tools' | 'prompts', name: string): void {
    const down = this.#parts.lanes().find((lane) => isDown(lane, kind) && mayHave(lane, name))
    if (down !== undefined) {
      call.service = down.config.name
      return call.fail(down.view.failure?.body ?? unavailable(down))
    }
    const near = nearest(name, this.#parts.catalog().names(kind), NEAREST_MAX)
    call.fail(kind === 'tools' ? toolNotFound(name, near) : promptNotFound(name, near))
  }

  #byUri(call: Call): void {
    const uri = call.frame.params.members.string('uri')
    if (uri === undefined) return call.fail(missing('uri'))
    const lane = this.#parts.catalog().resource(uri)
    if (lane !== undefined) return this.#toLane(call, lane, NO_EDITS)
    this.#waits.said(call, ['resources', 'templates'], () => {
      const late = this.#parts.catalog().resource(uri)
      if (late !== undefined) this.#toLane(call, late, NO_EDITS)
      else this.#askInTurn(call, uri)
    })
  }

  /** No server lists the resource and no template fits: those that have resources are asked, in order. */
  #askInTurn(call: Call, uri: string): void {
    const lanes = this.#parts.lanes().filter((lane) => lane.view.facts?.capabilities.resources === true)
    const [first, ...rest] = lanes
    if (first === undefined) return call.fail(resourceNotFound(uri))
    if (rest.length === 0) return this.#toLane(call, first, NO_EDITS)
    call.keep()
    this.#tryLane(call, first, rest)
  }

  #tryLane(call: Call, lane: CallTarget, rest: readonly CallTarget[]): void {
    call.service = lane.config.name
    const attempt = call.attempt((outcome) => {
      const [next, ...others] = rest
      if (next !== undefined && isNotFound(outcome)) this.#tryLane(call, next, others)
      else call.settle(outcome)
    })
    lane.call(attempt, NO_EDITS)
  }

  #byReference(call: Call): void {
    const { line, params } = call.frame
    const members = membersAt(line, params.members.span('ref'))
    const uri = members?.string('uri')
    const nameSpan = members?.span('name')
    const name = stringAt(line, nameSpan)
    if (name === undefined && uri === undefined) return call.fail(missing('ref'))
    this.#waits.said(call, name === undefined ? ['resources', 'templates'] : ['prompts'], () => {
      if (name === undefined) return this.#toReference(call, uri ?? '')
      const target = this.#parts.catalog().named('prompts', name)
      if (target === undefined) return this.#unknownName(call, 'prompts', name)
      completed(call, target.lane, nameEdits(nameSpan, name, target))
    })
  }

  #toReference(call: Call, uri: string): void {
    const lane = this.#parts.catalog().reference(uri)
    if (lane === undefined) call.fail(invalidParams(`no server has the resource '${uri}'`, { uri }))
    else completed(call, lane, [])
  }

  #whenShown(call: Call, kind: ListKind): void {
    const parts = this.#parts
    this.#waits.shown(call, kind, () => this.#list(call, kind))
    if (!call.settled) tellListProgress(call, kind, parts.lanes(), (of, params) => parts.progress(of, params))
  }

  #list(call: Call, kind: ListKind): void {
    const span = call.frame.params.members.span('cursor')
    const cursor = stringAt(call.frame.line, span)
    const { listPageBytesMax, splice } = this.#parts
    const isBad = span !== undefined && cursor === undefined
    const refusal = this.#refusalOfAll(kind)
    if (refusal !== undefined) {
      this.#parts.gave(kind)
      return call.fail(refusal)
    }
    const page = isBad ? undefined : this.#parts.catalog().page(kind, cursor, listPageBytesMax, splice)
    if (page === undefined)
      call.fail(invalidParams('the cursor is invalid or expired', { parameter: 'cursor' }))
    else call.settle({ kind: 'result', result: page })
    this.#parts.gave(kind)
  }

  /** Why no server can be used, or can list: an empty list would look as if there were nothing. */
  #refusalOfAll(kind: ListKind): ErrorBody | undefined {
    const lanes = this.#parts.lanes()
    const [only, ...others] = lanes
    if (only === undefined || !lanes.every((lane) => cannotList(lane, kind))) return undefined
    if (others.length > 0)
      return noUpstream(lanes.map((lane) => ({ service: lane.config.name, problem: problemOf(lane) })))
    return only.view.failure && (only.view.failure.body ?? unavailable(only))
  }
}

function cannotList(lane: CallTarget, kind: ListKind): boolean {
  return !lane.knows(kind) && lane.view.items(kind).length === 0 && lane.view.failure !== undefined
}

/** A server without completions completes nothing, which is an answer. */
function completed(call: Call, lane: CallTarget, edits: readonly Edit[]): void {
  call.service = lane.config.name
  if (lane.view.facts?.capabilities.completions !== false) lane.call(call, edits)
  else call.settle({ kind: 'result', result: '{"completion":{"values":[]}}' })
}

/** A server that has never said what it has is down, even while it is being tried again. */
function isDown(lane: CallTarget, kind: ListKind): boolean {
  return !lane.knows(kind) || (lane.view.state === 'error' && lane.view.failure?.body !== undefined)
}

const NO_EDITS: readonly Edit[] = []

function nameEdits(span: Span | undefined, name: string, { item, ownKey }: Target): readonly Edit[] {
  if (span === undefined || name === item.key) return NO_EDITS
  return [{ start: span.start, end: span.end, bytes: ownKey, why: 'name' }]
}

function missing(parameter: string): ReturnType<typeof invalidParams> {
  return invalidParams(`Missing required parameter '${parameter}'`, { parameter })
}

function unavailable({ config: { name }, view }: CallTarget): ReturnType<typeof upstreamFailed> {
  const why = view.failure === undefined ? `'${name}' is not available` : `'${name}': ${view.failure.message}`
  return upstreamFailed(name, 'unavailable', why)
}

function isNotFound(outcome: Outcome): boolean {
  if (outcome.kind !== 'answered' || outcome.frame.kind !== 'error') return false
  const { line, error } = outcome.frame
  const code = membersAt(line, error)?.span('code')
  return code !== undefined && saysResourceNotFound(Number(parse(rawAt(line, code))))
}
