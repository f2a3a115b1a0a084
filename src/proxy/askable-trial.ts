// Lists a server as a client does that answers every kind of question, for which many servers have further tools.

import type { Configuration, SchemaConfig } from '../config/configuration.js'
import { buildError, buildNotification, buildRequest } from '../jsonrpc/build.js'
import { readFrame } from '../jsonrpc/frame.js'
import { numericId } from '../jsonrpc/request-id.js'
import { quote } from '../jsonrpc/text.js'
import { everyAskable } from '../mcp/capabilities.js'
import { methodNotFound } from '../mcp/error-codes.js'
import { latestHandshake } from '../mcp/revisions.js'
import { within } from '../runtime/deadline.js'
import { LazyPromise } from '../runtime/lazy.js'
import type { Runtime } from '../runtime/runtime.js'
import { type MemoryConnection, memoryPair } from '../transports/memory.js'
import type { ListGuard } from '../upstream/contracts/list-guard.js'
import type { ServerConfig } from '../upstream/contracts/server-config.js'
import { openGuarded } from './trial.js'

/** Starts the server, shows `guard` what it lists, and stops it; also where it fails, or does not answer in time. */
export async function listAsAskable(
  config: Configuration,
  schema: SchemaConfig,
  server: ServerConfig,
  runtime: Runtime,
  guard: ListGuard,
): Promise<void> {
  const waitMs = server.startTimeoutMs + server.listTimeoutMs
  const attempt = server.kind === 'stdio' ? { ...server, restart: false } : server
  const alone = { ...config, schemas: new Map([[schema.name, { ...schema, servers: [attempt] }]]) }
  const settled = new LazyPromise<void>()
  const on = {
    server: ({ state }: { readonly state: string }) => {
      if (state === 'ready' || state === 'failed') settled.come()
    },
  }
  const options = { schema: schema.name, runtime, on, ownStart: 'with-client' } as const
  const proxy = openGuarded(guard, alone, options)
  try {
    const [ours, theirs] = memoryPair()
    await proxy.attach(theirs)
    open(ours)
    await within(settled.promise, waitMs, runtime)
  } finally {
    await proxy.close(0)
  }
}

/** Opens a session, asks for the tools, and refuses what the server asks. */
function open(ours: MemoryConnection): void {
  const capabilities = everyAskable.map((name) => `${quote(name)}:{}`).join()
  const client = '"clientInfo":{"name":"mcps-proxy lock","version":"1"}'
  ours.start({
    message: (line) => {
      const frame = readFrame(line)
      if (frame.kind === 'request') ours.send(buildError(frame.id, methodNotFound(frame.method)))
      if (frame.kind !== 'result' || frame.id !== numericId(1)) return
      ours.send(buildNotification('notifications/initialized'))
      ours.send(buildRequest(numericId(2), 'tools/list'))
    },
    oversize: () => undefined,
    drained: () => undefined,
    ended: () => undefined,
    closed: () => undefined,
  })
  const version = quote(latestHandshake.version)
  const params = `{"protocolVersion":${version},"capabilities":{${capabilities}},${client}}`
  ours.send(buildRequest(numericId(1), 'initialize', params))
}
