// What is left of the HTTP front when clients rest, or have gone without a word.

import { SESSION_IDLE_MS } from './configuration.js'
import type { World } from './world.js'

/** Besides the time that a session may be idle: from one look for those to the next, and their end. */
const LOOK_MS = 25_000

/** Sessions end that nobody uses or listens to. */
export function judgeFront(world: World): void {
  const { ledger, front } = world.host
  world.pass(SESSION_IDLE_MS + LOOK_MS)
  const listening = world.clients.filter(({ plan, hears }) => plan.http !== undefined && hears).length
  if (front.served > listening)
    ledger.fail('left-session', `${front.served} clients are served over HTTP, and ${listening} are there`)
}
