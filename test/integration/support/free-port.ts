// A port for what has to name it before it listens.

import { strict as assert } from 'node:assert'
import { once } from 'node:events'
import { createServer } from 'node:net'

/** A port that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  assert(typeof address === 'object' && address !== null)
  return address.port
}
