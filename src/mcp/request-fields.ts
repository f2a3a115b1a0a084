// The header fields of an HTTP request to a server without sessions: they repeat what its message says.
//
// MCP 2026-07-28, Transports, Streamable HTTP: standard request headers. They are made of the bytes that are sent, since
// a name that clients know is another than the server's own.

import { FrameError } from '../jsonrpc/errors.js'
import { type RequestFrame, frameOrError } from '../jsonrpc/frame.js'
import type { Line } from '../jsonrpc/line.js'
import { requestMeta } from './meta-keys.js'
import { fieldOfText, mirroredName } from './mirrored-headers.js'
import { type ParamHeader, paramFields } from './param-headers.js'

/** The marked arguments of a tool, by the server's own name of it. */
export type MarkedParams = (tool: string) => readonly ParamHeader[]

/** Names and values in turn; undefined for a message that does not say by itself what it speaks. */
export function requestFields(message: Line, marked: MarkedParams): readonly string[] | undefined {
  const frame = frameOrError(message)
  if (frame instanceof FrameError || frame.kind !== 'request') return undefined
  const version = frame.params.meta.string(requestMeta.version)
  if (version === undefined) return undefined
  const fields = ['MCP-Protocol-Version', version, 'Mcp-Method', fieldOfText(frame.method)]
  const name = mirroredName(frame)?.text
  if (name !== undefined) fields.push('Mcp-Name', fieldOfText(name))
  return frame.method === 'tools/call' ? [...fields, ...argumentFields(frame, marked(name ?? ''))] : fields
}

function argumentFields({ line, params }: RequestFrame, marked: readonly ParamHeader[]): readonly string[] {
  const span = params.members.span('arguments')
  return marked.length === 0 || span === undefined
    ? []
    : paramFields(marked, line.subarray(span.start, span.end))
}
