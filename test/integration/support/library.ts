// Many clients of one proxy inside this process.

import {
  type AttachedSession,
  type Connection,
  type MemoryConnection,
  type LogRecord,
  type McpProxy,
  type ProxyOptions,
  createProxy,
  memoryPair,
} from '../../../src/index.js'
import { toLine } from '../../../src/jsonrpc/line.js'
import { splice } from '../../../src/jsonrpc/splice.js'
import type { ClientOrigin } from '../../../src/mcp/client-context.js'
import { RawClient } from './client.js'
import { type ServerEntry, asRead } from './programs.js'
import type { Scope, Servers } from './spawned.js'

/** A client, its connection, and the proxy's side of its session. */
export interface Attached {
  readonly client: RawClient
  readonly connection: MemoryConnection
  /** The proxy's end of the same channel. */
  readonly proxyEnd: Connection
  readonly session: AttachedSession
}

export interface TestProxy {
  readonly proxy: McpProxy
  readonly log: readonly LogRecord[]
  readonly attach: (origin?: ClientOrigin) => Promise<Attached>
}

/** A client at one end of a pair of connections. */
export function clientOf(connection: MemoryConnection): RawClient {
  const client = new RawClient((line) => connection.send(splice(toLine(line), [])))
  connection.start({
    message: (line) => client.take(line.toString()),
    oversize: () => client.invalid.push('a line over the limit'),
    drained: () => undefined,
    ended: () => client.gone('ended'),
    closed: () => client.gone('closed'),
  })
  return client
}

export async function libraryProxy(
  scope: Scope,
  servers: Servers,
  options: ProxyOptions = {},
  more: ServerEntry = {},
): Promise<TestProxy> {
  const log: LogRecord[] = []
  const sink = (record: LogRecord): void => void log.push(record)
  const proxy = await createProxy(asRead({ ...more, mcpServers: servers }), { log: sink, ...options })
  const clients: RawClient[] = []
  scope.after(async () => {
    await proxy.close(0)
    for (const client of clients) client.assertValid()
  })
  return {
    proxy,
    log,
    attach: async (origin) => {
      const [ours, theirs] = memoryPair()
      const session = await proxy.attach(theirs, origin)
      const client = clientOf(ours)
      clients.push(client)
      return { client, connection: ours, proxyEnd: theirs, session }
    },
  }
}

/** A proxy and a client with an open session. */
export async function proxyWithClient(
  ...args: Parameters<typeof libraryProxy>
): Promise<TestProxy & Attached> {
  const made = await libraryProxy(...args)
  const attached = await made.attach()
  await attached.client.open()
  return { ...made, ...attached }
}
