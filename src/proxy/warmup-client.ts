// A client without a connection, which opens the shared servers before the first client attaches.
//
// The status then shows at once which servers work, and the first client does not wait. It declares no
// capabilities, so it opens what such clients share. A child process stays open for them. A session with a
// remote server ends when nothing has used it for a while, and begins anew with the next call.

import type { ClientPort } from '../mcp/call.js'
import { noCapabilities } from '../mcp/capabilities.js'
import { latestHandshake } from '../mcp/revisions.js'
import type { Upstream } from '../upstream/contracts/upstream.js'

const ignore = (): void => {}

const visitor: ClientPort = {
  serial: 0,
  asksNothing: true,
  profile: { revision: latestHandshake, capabilities: noCapabilities },
  ask: () => false,
  withdraw: ignore,
  owes: () => false,
  forget: ignore,
  tell: ignore,
  log: ignore,
  listens: false,
  listsChanged: ignore,
}

/** Opens a server and reads its lists, unless every client is to have one of its own. */
export function warmUp(upstream: Upstream): void {
  if (upstream.isolated) return
  const lane = upstream.attach(visitor)
  void Promise.resolve(lane.view.listed).then(() => lane.leave(visitor))
}
