// Spans of calls: one for the client's request, and below it one for the request to the server.
//
// A trace is begun when a call comes, since its server gets the id of the second span. Both spans are made from the event of
// its end. OpenTelemetry, semantic conventions for MCP; W3C Trace Context, level 1.

import { randomBytes } from 'node:crypto'
import type { CallEvent } from '../events/proxy-events.js'
import type { CallTrace, CallTracer } from '../mcp/trace-edits.js'
import { type ServerLabels, frontError, isKnownMethod, transportOf, upstreamError } from './call-labels.js'
import type { Sampler } from './otlp/options.js'
import { OTHER } from './registry.js'

/** A span that has ended. */
export interface CallSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string | undefined
  readonly kind: 'server' | 'client'
  readonly name: string
  /** In milliseconds since 1970. */
  readonly startMs: number
  readonly endMs: number
  readonly isError: boolean
  readonly attributes: readonly (readonly [key: string, value: string | undefined])[]
}

/** The trace of one call. */
class SampledCall implements CallTrace {
  readonly traceId: string
  readonly parentSpanId: string | undefined
  /** Raw JSON of the request id. */
  readonly id: string
  readonly front: string
  readonly upstream: string
  readonly traceparent: string

  constructor(traceId: string, parentSpanId: string | undefined, id: string) {
    this.traceId = traceId
    this.parentSpanId = parentSpanId
    this.id = id
    this.front = newId(SPAN_BYTES)
    this.upstream = newId(SPAN_BYTES)
    this.traceparent = `00-${traceId}-${this.upstream}-01`
  }
}

const TRACE_BYTES = 16
const SPAN_BYTES = 8

/** Random bits; the sampler takes the last 56 of a trace id. */
function newId(bytes: number): string {
  return randomBytes(bytes).toString('hex')
}

/** Begins traces, and gives their spans to `add` when calls end. */
export class Tracing implements CallTracer {
  readonly #sampler: Sampler
  readonly #serverLabelsOf: (schema: string, server: string) => ServerLabels | undefined
  readonly #now: () => number
  readonly #add: (span: CallSpan) => void

  /** `now` is in milliseconds since 1970, and `serverLabelsOf` gives what is known of a server. */
  constructor(
    sampler: Sampler,
    serverLabelsOf: (schema: string, server: string) => ServerLabels | undefined,
    now: () => number,
    add: (span: CallSpan) => void,
  ) {
    this.#sampler = sampler
    this.#serverLabelsOf = serverLabelsOf
    this.#now = now
    this.#add = add
  }

  begin(parent: string | undefined, id: string): CallTrace | undefined {
    const known = readTraceparent(parent)
    const traceId = known?.traceId ?? newId(TRACE_BYTES)
    return this.#isSampled(traceId, known?.isSampled)
      ? new SampledCall(traceId, known?.spanId, id)
      : undefined
  }

  ended(event: CallEvent): void {
    const { trace, ms, serverMs, server } = event
    if (!(trace instanceof SampledCall)) return
    const endMs = this.#now()
    const common = { traceId: trace.traceId, name: nameOf(event), endMs }
    const { revision, code } = event
    const error = event.isToolError ? 'tool_error' : frontError(event)
    this.#add({
      ...common,
      spanId: trace.front,
      parentSpanId: trace.parentSpanId,
      kind: 'server',
      startMs: endMs - ms,
      isError: error !== '',
      attributes: attributesOf(event, trace, error, { revision, transport: transportOf(event) }),
    })
    if (serverMs === undefined || server === undefined) return
    const atServer = event.isToolError ? 'tool_error' : upstreamError(event)
    // A call that has failed without an answer of the server has the proxy's own number.
    const own = event.outcome === 'failed' ? { ...event, code: undefined } : { ...event, code }
    this.#add({
      ...common,
      spanId: trace.upstream,
      parentSpanId: trace.front,
      kind: 'client',
      startMs: endMs - serverMs,
      isError: atServer !== '',
      attributes: attributesOf(own, trace, atServer, this.#serverLabelsOf(event.schema, server)),
    })
  }

  #isSampled(traceId: string, parent: boolean | undefined): boolean {
    const { ratio, followsParent } = this.#sampler
    if (followsParent && parent !== undefined) return parent
    return Number.parseInt(traceId.slice(-RANDOM_DIGITS), 16) >= (1 - ratio) * 16 ** RANDOM_DIGITS
  }
}

/** The digits of a trace id that are random, of which a number has room for 13 (W3C Trace Context, level 2: 56 bits). */
const RANDOM_DIGITS = 13

interface Parent {
  readonly traceId: string
  readonly spanId: string
  readonly isSampled: boolean
}

/** Undefined for a text that is none, as W3C Trace Context asks (section 3.2.2.3). */
function readTraceparent(text: string | undefined): Parent | undefined {
  const [, version, traceId = '', spanId = '', flags = '', more] =
    /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/.exec(text ?? '') ?? []
  const isUnknown = version === undefined || version === 'ff' || (version === '00' && more !== undefined)
  if (isUnknown || /^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 }
}

/** With the tool or the prompt, and never with a URI, of which there are too many. */
function nameOf({ method, item }: CallEvent): string {
  const known = isKnownMethod(method) ? method : OTHER
  return item === undefined ? known : `${known} ${item}`
}

function attributesOf(
  event: Pick<CallEvent, 'method' | 'item' | 'name' | 'code' | 'schema' | 'server'>,
  { id }: SampledCall,
  error: string,
  speech: Partial<Pick<ServerLabels, 'transport'>> & { readonly revision?: string | undefined } = {},
): CallSpan['attributes'] {
  const { method, item, code, schema, server } = event
  const isTool = method === 'tools/call'
  return [
    ['mcp.method.name', method],
    ['gen_ai.operation.name', isTool ? 'execute_tool' : undefined],
    ['gen_ai.tool.name', isTool ? item : undefined],
    ['gen_ai.prompt.name', method === 'prompts/get' ? item : undefined],
    ['jsonrpc.request.id', id.replace(/^"|"$/g, '')],
    ['rpc.response.status_code', code === undefined ? undefined : String(code)],
    ['error.type', error || undefined],
    ['mcp.protocol.version', speech.revision],
    ['network.transport', speech.transport || undefined],
    ['mcps.schema', schema],
    ['mcps.server', server],
  ]
}
