// The last changes of a run: everything works again, so each client that follows lists or resources must be notified of
// one more change, whatever happened to the servers before.

import type { SimClient } from './client.js'
import { grow } from './server-ops.js'
import { type OpenListen, toolsOf } from './listen-watch.js'
import type { SimServer } from './server.js'
import type { World } from './world.js'
import { setOf } from './server-script.js'
import type { ServerPlan } from './plan.js'

/** By then it is known everywhere. */
const NEWS_MS = 3000

const LIST_CHANGED = 'notifications/tools/list_changed'

/** Every server has a tool more, and a resource that has changed. */
export function finalChanges(world: World): void {
  const servers = world.host.servers.filter(speaksUp)
  const clients = world.clients.filter(({ speaks }) => speaks)
  const waits = [
    ...clients
      .filter(({ hears }) => hears)
      .flatMap((client) => [...listWaits(world, client, servers), ...updateWaits(world, client, servers)]),
    ...clients.flatMap((client) => listenWaits(world, client, servers)),
  ]
  for (const server of servers) {
    grow(world, server)
    for (const script of server.scripts) script.updated()
  }
  world.pass(NEWS_MS)
  for (const { check, what, has } of waits) if (!has()) world.host.ledger.fail(check, what)
}

interface Wait {
  readonly check: 'stale-list' | 'not-updated'
  readonly what: string
  readonly has: () => boolean
}

/** It says what changes at any time: one that rests, or has no way to say it, tells nobody. */
function speaksUp({ facts: { plan } }: SimServer): boolean {
  if (plan.kind === 'stdio') return plan.idleTimeoutMs === undefined
  return plan.standalone && !plan.faulty
}

function listWaits(world: World, client: SimClient, servers: readonly SimServer[]): Wait[] {
  const { name, inbox, plan } = client
  // Who never says that it is ready hears of no changes.
  if (plan.manners === 'session' || !inbox.lists.has('tools/list')) return []
  if (!servers.some((server) => mustHear(world, client, server))) return []
  const before = inbox.lists.told(LIST_CHANGED)
  return [
    {
      check: 'stale-list',
      what: `${name} was not told that there are more tools`,
      has: () => inbox.lists.told(LIST_CHANGED) > before,
    },
  ]
}

/** What is told on account of requests that stay open. */
function listenWaits({ host }: World, { inbox }: SimClient, servers: readonly SimServer[]): Wait[] {
  return inbox.listens.open.flatMap((listen): Wait[] => {
    const { entry, heard, news } = listen
    if (heard === undefined) return []
    const uris = servers
      .filter(({ facts }) => !host.ledger.replaced.has(facts.plan.name))
      .map(({ facts }) => `sim://${facts.plan.name}/a`)
      .filter((uri) => heard.uris.includes(uri))
    const waits = uris.map((uri): Wait => {
      const before = news.get(uri) ?? 0
      const what = `${entry.nonce} listens for ${uri} and was not told that it has changed`
      return { check: 'not-updated', what, has: () => (news.get(uri) ?? 0) > before }
    })
    return heard.hasTools && servers.some(isOfAll) ? [...waits, toolsWait(listen)] : waits
  })
}

function toolsWait(listen: OpenListen): Wait {
  const before = toolsOf(listen)
  const what = `${listen.entry.nonce} was not told that there are more tools`
  return { check: 'stale-list', what, has: () => toolsOf(listen) > before }
}

/** Whoever listens sees its lists, whatever it can be asked. */
function isOfAll({ facts: { plan } }: SimServer): boolean {
  return plan.isStateless === true && plan.protocol !== 'auto'
}

function updateWaits(world: World, client: SimClient, servers: readonly SimServer[]): Wait[] {
  const { replaced } = world.host.ledger
  return servers.flatMap(({ facts }) => {
    const uri = `sim://${facts.plan.name}/a`
    const isFollowing = client.followed.has(uri) && !client.unfollowed.has(uri)
    if (!isFollowing || replaced.has(facts.plan.name)) return []
    const before = client.inbox.updates(uri)
    const what = `${client.name} follows ${uri} and was not told that it has changed`
    return [{ check: 'not-updated', what, has: () => client.inbox.updates(uri) > before }]
  })
}

// Which clients must hear what one server says of its lists.

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
function mustHear(world: World, client: SimClient, { facts, scripts }: SimServer): boolean {
  const up = scripts.filter(({ isUp }) => isUp)
  // One that ended before the proxy knew that it has no sessions is started for each client that calls.
  const isForEach = up.length > facts.plan.processes && !up.some((script) => script.serves(client.name))
  if (isForEach && facts.plan.protocol === 'auto') return false
  if (!isAlone(client, facts.plan) || world.plan.ownStart === 'with-client') return true
  // A process that served it may be the one for its requests without a session.
  if (isWithoutSession(world, client)) return false
  if (up.some((script) => script.serves(client.name))) return true
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
