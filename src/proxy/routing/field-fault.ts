// Header fields of a request that repeat arguments of its tool (MCP 2026-07-28, Transports, Streamable HTTP).

import type { ErrorBody } from '../../jsonrpc/build.js'
import type { FieldReader } from '../../jsonrpc/connection.js'
import type { Call } from '../../mcp/call.js'
import { headerMismatch } from '../../mcp/error-codes.js'
import type { ListItem } from '../../mcp/lists.js'
import { differingField, paramHeaders } from '../../mcp/param-headers.js'

/** Why a call is refused whose fields say something else than its arguments; undefined where they agree. */
export function fieldFault({ frame }: Call, field: FieldReader, item: ListItem): ErrorBody | undefined {
  if (item.schemaSpan === undefined) return undefined
  const { start, end } = item.schemaSpan
  const headers = paramHeaders(item.line.subarray(start, end))
  if (headers.length === 0) return undefined
  const span = frame.params.members.span('arguments')
  const bytes = span && frame.line.subarray(span.start, span.end)
  const name = differingField(headers, bytes, field)
  return name === undefined
    ? undefined
    : headerMismatch(`the header field ${name} is not what the argument is that it repeats`)
}
