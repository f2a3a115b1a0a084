import { judge, judgeInstances } from './judge.js'
import { perform } from './perform.js'
import type { Plan } from './plan.js'
import { World } from './world.js'
import type { Wrong } from './wrong.js'
import type { Host } from './host.js'
import type { Failure, Ledger } from './ledger.js'

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

/** Buffers hold no more than their limits and one message. */
function bounded(world: World): void {
  const { host, plan } = world
  const { backlogBytesMax, outgoingBytesMax, lineBytesMax, processesMax } = plan.limits
  for (const { backlogBytes, name } of world.clients)
    if (backlogBytes > backlogBytesMax + 2 * lineBytesMax)
      host.ledger.fail('backlog', `${backlogBytes} bytes wait for ${name}`)
  if (host.backlogBytes > outgoingBytesMax + 2 * lineBytesMax)
    host.ledger.fail('backlog', `${host.backlogBytes} bytes wait for a server`)
  if (host.alive > processesMax) host.ledger.fail('processes', `${host.alive} processes run`)
  if (world.instances !== undefined) return
  host.count()
  for (const { name, state, tools } of world.proxy.status())
    if (state === 'connected' && tools === 0)
      host.ledger.fail('missing-list', `${name} is connected and has no tools`)
}

/** `results` are the requests that were answered with a result. */
export type Outcome = Pick<Ledger, 'failures'> & Pick<Host, 'trace'> & Readonly<Record<Counts, number>>
type Counts = 'requests' | 'results'

export function outcomeOf({ host }: World): Outcome {
  const { ledger, trace } = host
  const { all, failures } = ledger
  const results = all.filter(({ answers }) => answers[0]?.ok === true).length
  return { failures, trace, requests: all.length, results }
}

export function failuresText(failures: readonly Failure[]): string {
  return failures.map(({ check, what, at }) => `  ${at.toFixed(1)} ms  ${check}: ${what}`).join('\n')
}
