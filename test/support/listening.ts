import assert from 'node:assert'
import { once } from 'node:events'
import type { Server } from 'node:net'
import type { Scope } from './scope.js'

/** Starts a server on a free port of this machine, and ends it with its connections after the test; gives the port. */
export async function listening(
  scope: Scope,
  server: Server & { closeAllConnections?(): void },
): Promise<number> {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  scope.after(() => {
    server.close()
    server.closeAllConnections?.()
  })
  const address = server.address()
  assert(typeof address === 'object' && address !== null)
  return address.port
}
