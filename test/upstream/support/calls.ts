import { readFrame } from '../../../src/jsonrpc/frame.js'
import { toLine } from '../../../src/jsonrpc/line.js'
import { Call, type Outcome, type ClientPort } from '../../../src/calls/call.js'
import { CallDeadline } from '../../../src/calls/call-deadline.js'
import { noCapabilities } from '../../../src/mcp/capabilities.js'
import { requests } from '../../../src/mcp/methods.js'
import { latestSession } from '../../../src/mcp/revisions.js'

const ignore = (): void => {}

/** A client without capabilities that ignores notifications. */
export const nobody: ClientPort = {
  serial: 1,
  profile: { revision: latestSession, capabilities: noCapabilities },
  questions: { ask: () => false, withdraw: ignore, isAwaitedBy: () => false, forget: ignore },
  tell: ignore,
  log: ignore,
  listens: false,
  listsChanged: ignore,
}

/** `id` is raw JSON. `settled` is called with the outcome. */
export function callOf(
  id: string,
  arrivedAt: number,
  {
    method = 'tools/call',
    settled = ignore,
    client = nobody,
    meta = '',
  }: { method?: string; settled?: (outcome: Outcome) => void; client?: ClientPort; meta?: string } = {},
): Call {
  const line = `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":{${meta}"name":"t","uri":"it://r"}}`
  const frame = readFrame(toLine(line))
  const row = requests.get(method)
  if (frame.kind !== 'request' || row === undefined) throw new Error(`${line} is no call`)
  return new Call(frame, row, client, new CallDeadline(arrivedAt), {
    onSettled: (_call, outcome) => settled(outcome),
  })
}
