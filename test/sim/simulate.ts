// A whole run of one plan, and what was found.

import { judge } from './judge.js'
import { judgeInstances } from './judge-instances.js'
import { type Outcome, outcomeOf } from './outcome.js'
import { perform } from './perform.js'
import type { Plan } from './plan.js'
import { World } from './world.js'
import type { Wrong } from './wrong.js'

/** Operations after which it is looked at how much waits. */
const BOUNDED_EVERY = 5

export function simulate(plan: Plan, wrong?: Wrong): Outcome {
  const world = new World(plan, wrong)
  const { ledger } = world.host
  world.run(() => {
    for (const [number, op] of plan.ops.entries()) {
      world.pass(op.gapMs)
      perform(world, op, number)
      world.settle()
      if (number % BOUNDED_EVERY === 0) bounded(world)
      if (ledger.failures.length > 0) break
    }
    if (plan.instances === undefined) judge(world)
    else judgeInstances(world)
  })
  return outcomeOf(world)
}

/** What waits is never more than the limits say, and one message. */
function bounded(world: World): void {
  const { host, plan } = world
  const { backlogBytesMax, outgoingBytesMax, lineBytesMax, processesMax } = plan.limits
  for (const client of world.clients) {
    if (client.backlogBytes > backlogBytesMax + 2 * lineBytesMax) {
      host.ledger.fail('backlog', `${client.backlogBytes} bytes wait for ${client.name}`)
    }
  }
  if (host.backlogBytes > outgoingBytesMax + 2 * lineBytesMax) {
    host.ledger.fail('backlog', `${host.backlogBytes} bytes wait for a server`)
  }
  if (host.alive > processesMax) host.ledger.fail('processes', `${host.alive} processes run`)
  if (world.instances !== undefined) return
  host.count()
  for (const { name, state, tools } of world.proxy.status())
    if (state === 'connected' && tools === 0)
      host.ledger.fail('missing-list', `${name} is connected and has no tools`)
}
