// Clients inside this process, and the proxy between them and real children.

import { type McpProxy, memoryPair } from '../../../src/index.js'
import { toLine } from '../../../src/jsonrpc/line.js'
import { splice } from '../../../src/jsonrpc/splice.js'
import { Caller } from './caller.js'

/** A client of a proxy in this process. */
export interface AttachedCaller {
  readonly caller: Caller
  /** Leaves, and waits until the proxy has noticed. */
  readonly leave: () => Promise<void>
}

export async function attachCaller(proxy: McpProxy): Promise<AttachedCaller> {
  const [ours, theirs] = memoryPair()
  const session = await proxy.attach(theirs)
  const caller = new Caller((line) => ours.send(splice(toLine(line), [])))
  ours.start({
    message: (line) => caller.take(line.toString()),
    oversize: () => caller.misses.invalid++,
    drained: () => undefined,
    ended: () => undefined,
    closed: () => caller.gone(),
  })
  const leave = async (): Promise<void> => {
    await ours.close()
    await session.ended
  }
  return { caller, leave }
}
