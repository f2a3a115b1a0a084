// What is left of the HTTP front when clients rest, or have gone without a word.

import type { SimClient } from './client.js'
import { SESSION_IDLE_MS } from './configuration.js'
import type { Entry } from './ledger.js'
import type { World } from './world.js'

/** Besides the time that a session may be idle: from one look for those to the next, and their end. */
const LOOK_MS = 25_000

/** Sessions end that nobody uses or listens to. */
export function judgeFront(world: World): void {
  const { ledger, front } = world.host
  world.pass(SESSION_IDLE_MS + LOOK_MS)
  const listening = world.clients.filter(({ plan, hears }) => plan.http !== undefined && hears).length
  const asking = world.clients.flatMap(openPosts).length + world.clients.filter(owes).length
  if (front.served > listening + asking)
    ledger.fail(
      'left-session',
      `${front.served} clients are served over HTTP, and ${listening + asking} are there`,
    )
}

/** Requests without a session each may have a connection of its own in the proxy. */
function openPosts({ plan, ears }: SimClient): Entry[] {
  const waiting = plan.http === undefined ? [] : ears.waiting.map(({ entry }) => entry)
  return waiting.filter(({ root, excused, isClosed }) => root !== undefined && !excused && !isClosed)
}

/** What it was asked it may have lost, or have no stream for: its session waits for it, for minutes. */
function owes({ plan, ears }: SimClient): boolean {
  return (
    plan.http !== undefined &&
    ears.waiting.some(({ entry }) => entry.root === undefined && entry.mayStandStill)
  )
}
