// The one call in flight that can be meant.

import type { Call } from '../../mcp/call.js'
import type { InflightCall } from './inflight-call.js'

/** Undefined where there is none of this kind, and where there are several. */
export function theOne(flights: Iterable<InflightCall>, is: (call: Call) => boolean): Call | undefined {
  const [found, other] = [...flights].flatMap(({ call }) => (is(call) ? [call] : []))
  return other === undefined ? found : undefined
}
