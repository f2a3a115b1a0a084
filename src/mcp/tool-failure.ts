// A call that fails in a way that the model is to hear of.

import type { ErrorBody } from '../jsonrpc/build.js'
import { quote } from '../jsonrpc/text.js'
import type { Call } from './call.js'

/** Ends a call of a tool with a result that says why (MCP, Tools: error handling); any other request with the error. */
export function failToolCall(call: Call, error: ErrorBody): void {
  const { route } = call.row
  if (route.to !== 'name' || route.list !== 'tools') return call.fail(error)
  call.settle({ kind: 'result', result: toolFailure(error.message), refusal: error.message })
}

/** The raw JSON of a tool's result that says why it has failed. */
export function toolFailure(message: string): string {
  return `{"content":[{"type":"text","text":${quote(message)}}],"isError":true}`
}
