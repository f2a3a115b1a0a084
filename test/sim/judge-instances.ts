// The end of a run with several instances: all of them serve every client again, and nothing is left once they are closed.

import type { SimClient } from './client.js'
import { type Try, calm, closeAll, tries } from './judge.js'
import { perform } from './perform.js'
import { visit } from './visit.js'
import type { World } from './world.js'

/** A lease of an instance that has ended is over by then, and so is the grace of one that finishes what it has. */
const REST_MS = 15_000

/** What was on its way to the store, when its instance was killed, is lost. */
const UNDER_WAY_MS = 500

export function judgeInstances(world: World): void {
  const { ledger } = world.host
  calm(world)
  world.instances?.calm()
  world.pass(REST_MS)
  judgeEnded(world)
  // Clients whose sessions have ended with an instance notice that now.
  for (const client of world.plan.clients.keys()) perform(world, { gapMs: 0, kind: 'ping', client }, 0)
  world.pass(REST_MS)
  const seats = world.seats.filter((client): client is SimClient => client?.speaks === true)
  const [plan] = world.plan.clients
  if (plan !== undefined) seats.push(world.attach({ ...plan, manners: 'proper' }))
  world.pass(REST_MS)
  const labels = world.instances?.labels ?? []
  // The balancer chooses for each request.
  const round = (): readonly Try[] =>
    labels.flatMap(() => seats.filter(({ speaks }) => speaks).flatMap((client) => tries(world, client)))
  // The first calls may wait too long for the start of their server.
  round()
  world.pass(REST_MS)
  const tried = round()
  world.pass(REST_MS)
  for (const { what, isWell } of tried) if (!isWell()) ledger.fail('not-recovered', what())
  closeAll(world)
}

/** A session that its client has ended is ended for every instance. */
function judgeEnded(world: World): void {
  const { ledger } = world.host
  for (const { plan, session, at } of ledger.ended) {
    const isUncertain = ledger.disturbances.some((disturbed) => Math.abs(disturbed - at) < UNDER_WAY_MS)
    if (isUncertain) continue
    for (const label of world.instances?.labels ?? [])
      visit(world, { plan, session, label }, (status) => {
        if (status < 300)
          ledger.fail('ended-session', `${label} serves the session that ${plan.name} has ended`)
      })
  }
  world.pass(UNDER_WAY_MS)
}
