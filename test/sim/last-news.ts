// The last news of a run: everything works again, so whoever wanted to hear of
// changes must hear of one more, whatever happened to the servers since.

import type { SimClient } from './client.js'
import { grow } from './happen.js'
import { mustHear } from './news-reach.js'
import { type OpenListen, toolsOf } from './listen-watch.js'
import type { SimServer } from './server.js'
import type { World } from './world.js'

/** By then it is known everywhere. */
const NEWS_MS = 3000

const LIST_CHANGED = 'notifications/tools/list_changed'

/** Every server has a tool more, and a resource that has changed. */
export function lastNews(world: World): void {
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
    for (const brain of server.brains) brain.updated()
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
  const { name, ears, plan } = client
  // Who never says that it is ready hears of no changes.
  if (plan.manners === 'bare' || !ears.lists.has('tools/list')) return []
  if (!servers.some((server) => mustHear(world, client, server))) return []
  const before = ears.lists.told(LIST_CHANGED)
  return [
    {
      check: 'stale-list',
      what: `${name} was not told that there are more tools`,
      has: () => ears.lists.told(LIST_CHANGED) > before,
    },
  ]
}

/** What is told on account of requests that stay open. */
function listenWaits({ host }: World, { ears }: SimClient, servers: readonly SimServer[]): Wait[] {
  return ears.listens.open.flatMap((listen): Wait[] => {
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
    const before = client.ears.updates(uri)
    const what = `${client.name} follows ${uri} and was not told that it has changed`
    return [{ check: 'not-updated', what, has: () => client.ears.updates(uri) > before }]
  })
}
