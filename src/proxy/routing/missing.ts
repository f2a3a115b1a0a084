// The error of a request without a parameter by which it would be routed.

import type { ErrorBody } from '../../jsonrpc/build.js'
import { invalidParams } from '../../mcp/error-codes.js'

export function missing(parameter: string): ErrorBody {
  return invalidParams(`Missing required parameter '${parameter}'`, { parameter })
}
