// A client that waits for a list hears how many servers are there (MCP, Utilities: progress).

import type { Call } from '../../mcp/call.js'
import type { ListKind } from '../../mcp/methods/method-row.js'
import type { RoutedClient } from './routed-client.js'
import type { CallTarget } from '../../upstream/contracts/upstream.js'

/** Tells the client of `call`, when it gave a progress token, until the call is answered. */
export function tellListProgress(
  call: Call,
  kind: ListKind,
  lanes: readonly Pick<CallTarget, 'view'>[],
  client: Pick<RoutedClient, 'progress'>,
): void {
  const span = call.frame.params.meta.span('progressToken')
  if (span === undefined) return
  const token = call.raw(span)
  const total = lanes.length
  const pending = lanes.flatMap((lane) => lane.view.pending(kind) ?? [])
  let there = total - pending.length
  const report = (): void => {
    if (call.settled) return
    const message = `${there} of ${total} servers are there`
    const progress = `"progress":${there},"total":${total},"message":"${message}"`
    client.progress(call, `{"progressToken":${token},${progress}}`)
  }
  report()
  for (const wait of pending) {
    void wait.then(() => {
      there++
      report()
    })
  }
}
