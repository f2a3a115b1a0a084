// A client that is nobody: it opens servers before anybody has come.
//
// Where many clients are expected, the status should say at once what works,
// and the first client should not wait. What the visitor opens is what clients
// share that can be asked nothing. A process stays open for them; a session with
// a remote server, which may cost somebody money, ends when nobody has come for
// a while, and begins anew with the next call.

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
  slower: ignore,
  faster: ignore,
}

/** Opens a server and reads its lists, unless every client is to have one of its own. */
export function warmUp(upstream: Upstream): void {
  const { config } = upstream
  if (config.kind === 'stdio' && config.isolation === 'session') return
  const lane = upstream.attach(visitor)
  void Promise.resolve(lane.view.listed).then(() => lane.leave(visitor))
}
