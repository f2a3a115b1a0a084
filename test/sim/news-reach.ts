// Which clients must hear what one server says of its lists.

import { setOf } from './brain.js'
import type { SimClient } from './client.js'
import type { ServerPlan } from './plan.js'
import type { SimServer } from './server.js'
import type { World } from './world.js'

/** What starts no process that only one client uses. */
const quiet: ReadonlySet<string> = new Set([
  'initialize',
  'ping',
  'no/such',
  'logging/setLevel',
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
])

/**
 * Whether a process runs that tells the proxy, and whose lists the client looks at.
 *
 * A client whose own process is not started sees what is kept for clients like it, or else what others share; nobody
 * tells the proxy of changes where no such process runs.
 */
export function mustHear(world: World, client: SimClient, { facts, brains }: SimServer): boolean {
  if (!isAlone(client, facts.plan) || world.plan.ownStart === 'with-client') return true
  // A process that served it may be the one for its requests without a session.
  if (isWithoutSession(world, client)) return false
  const up = brains.filter(({ isUp }) => isUp)
  if (up.some((brain) => brain.serves(client.name))) return true
  const own = setOf(client.plan.capabilities)
  const isShown = ['', own].every((set) => up.some(({ declared }) => declared === set))
  return isShown && isIn('auto', facts.plan) && isQuiet(world, client)
}

/** Whether the client has a process of its own, once it is started. */
function isAlone({ plan }: SimClient, server: ServerPlan): boolean {
  // Everybody shares what has no sessions; only what starts with a call may not be known as such.
  const isFound = server.protocol !== 'auto' || !isIn('session', server)
  if (server.isStateless === true && isFound) return false
  return isIn('session', server) || (isIn('auto', server) && plan.capabilities.length > 0)
}

/** Over HTTP sessions are always dealt with in the same way. */
function isIn(isolation: ServerPlan['isolation'], server: ServerPlan): boolean {
  return (server.kind === 'http' ? 'auto' : server.isolation) === isolation
}

function isWithoutSession({ host }: World, { name }: SimClient): boolean {
  return [...host.ledger.entries.values()].some(({ client, root }) => client === name && root !== undefined)
}

function isQuiet({ host }: World, { name }: SimClient): boolean {
  const own = [...host.ledger.entries.values()].filter((entry) => entry.client === name)
  return own.every(({ method }) => quiet.has(method))
}
