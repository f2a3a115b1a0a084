// Spans as OTLP/HTTP has them in JSON: ids are hexadecimal, times are texts of nanoseconds.

import type { CallSpan } from '../tracing.js'
import { attributesOf, nanos, resourceJson, scope } from './common-json.js'

/** The numbers of the protocol. */
const kinds = { server: 2, client: 3 } as const
const ERROR = 2

/** An ExportTraceServiceRequest. */
export function spansJson(spans: readonly CallSpan[], resource: Readonly<Record<string, string>>): string {
  const scopeSpans = [{ scope, spans: spans.map(spanOf) }]
  return JSON.stringify({ resourceSpans: [{ resource: resourceJson(resource), scopeSpans }] })
}

function spanOf({ startMs, endMs, kind, isError, attributes, ...ids }: CallSpan): object {
  return {
    ...ids,
    kind: kinds[kind],
    startTimeUnixNano: nanos(startMs),
    endTimeUnixNano: nanos(endMs),
    attributes: attributesOf(attributes),
    ...(isError && { status: { code: ERROR } }),
  }
}
