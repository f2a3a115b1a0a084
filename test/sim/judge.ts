// The end of a run. All faults stop, so the proxy must serve everything again and leave nothing behind once it is
// closed.

import type { ShownState } from '../../src/upstream/contracts/upstream.js'
import { call, perform, visit, grow } from './perform.js'
import type { SimClient } from './client.js'
import { EVERYBODY, SESSION_IDLE_MS } from './configuration.js'
import type { Check } from './checks.js'
import type { Entry } from './ledger.js'
import { START_MS, type ServerPlan } from './plan.js'
import { type ServerFacts, type SimServer, lists } from './server.js'
import type { World } from './world.js'
import { TOOLS } from './list-watch.js'
import { setOf } from './script.js'

/** Enough processes for every client at every server, and for those that are being replaced. */
const ENOUGH = 64
const RECOVERY_MS = 60_000

/**
 * When the calls of the recovery check are made. The last of them must succeed.
 *
 * The breaker leaves a server that kept crashing alone for at most 36 s. The next call starts the process of its
 * client. A client without a stream sees the lists of that process with its next list request.
 */
const TRIES_MS = [37_000, 13_000] as const

/** How often a call that another instance serves crosses the way to the store. */
const ASKED_TIMES = 8
const SPACE_MS = 1000

/** A little longer than a call waits for its client. */
const PARKED_MS = 310_000

/** At most this many clients of the run make calls, and one new client. */
const SEATS_MAX = 2

/** The longest time that closing takes: the remaining calls, and the whole shutdown of the slowest process. */
const CLOSE_MS = 20_000

export function judge(world: World): void {
  calm(world)
  // With fewer processes than clients, some clients cannot be served.
  if (world.plan.limits.processesMax >= ENOUGH) recover(world)
  else world.pass(RECOVERY_MS)
  if (world.plan.front !== undefined) judgeFront(world)
  // A call whose client has not come back by the end of the parking time must be given up.
  if (world.plan.clients.some(({ sets }) => sets !== undefined)) {
    world.pass(PARKED_MS)
    world.host.ledger.parkedLeft()
  }
  closeAll(world)
}

export function closeAll(world: World): void {
  close(world)
  world.host.ledger.close()
  world.counted.judge(world.host.ledger)
  world.audit.judge(world.host.ledger)
}

/** Ends all faults, and lets paused clients read again. */
function calm(world: World): void {
  world.host.trace.note('op', 'calm')
  world.host.diskFull = false
  for (const server of world.host.servers) {
    server.facts.calm = true
    server.mend()
  }
  for (const client of world.clients) if (!client.inbox.left) client.read(true)
  for (const name of world.host.ledger.replaced) {
    world.host.ledger.reloaded(name)
    world.reload(name, 'nothing')
  }
  world.settle()
}

function recover(world: World): void {
  const { ledger, clock, servers } = world.host
  if (servers.some(({ scripts }) => scripts.some(({ isMute }) => isMute))) world.pass(START_MS)
  const from = clock.now
  const isFree = (client: SimClient): boolean => !isLost(world, client) && !isFull(world, client)
  const seats = [...speaking(world).filter(isFree).slice(0, SEATS_MAX), ...newcomer(world)]
  let tried: Try[] = []
  for (const ms of TRIES_MS) {
    world.pass(ms)
    tried = tries(world, seats)
  }
  world.pass(RECOVERY_MS - (clock.now - from))
  judgeTries(world, tried)
  for (const { name, state, error } of world.proxy.status())
    if (state !== 'connected' && !isUnused(world, name, state, from))
      ledger.fail('not-ready', `${name} is ${state} after a minute: ${error}`)
  for (const client of seats) if (client.speaks) sees(world, client)
  finalChanges(world)
}

/** No process for a single client runs at the server, or none was started since `from`. */
function isUnused({ host }: World, name: string, state: ShownState, from: number): boolean {
  const server = host.servers.find(({ facts }) => facts.plan.name === name)
  const isNew = server?.facts.starts.some((at) => at >= from)
  const isAtRest = state === 'disconnected' && server?.scripts.some(({ isUp }) => isUp) === false
  const isAlone = host.ledger.present.size === 0
  const isolation = server?.facts.plan.isolation
  if (isolation === 'session') return isAtRest || isAlone || isNew === false
  // With `auto`, the last client may have had a process to itself.
  return isolation === 'auto' && isAtRest && isAlone
}

/** The connection was lost with the `initialize` request on it, so no answer will come. */
function isLost({ host }: World, { name }: SimClient): boolean {
  const first = host.ledger.entries.get(`${name}-1`)
  return first?.method === 'initialize' && first.excused
}

/** Unanswered questions fill what the client may have in flight. At a server without sessions they do not expire. */
function isFull({ host, plan }: World, client: SimClient): boolean {
  const open = client.inbox.waiting.filter(({ entry: { service = '', mayStandStill, consent } }) => {
    const isUnanswered = client.plan.answerMs === undefined && mayStandStill
    return consent === 'asked' || (isUnanswered && host.ledger.sessionless.has(service))
  })
  return 2 * open.length >= plan.limits.callsMax
}

function speaking({ seats }: World): SimClient[] {
  return seats.flatMap((client) => (client?.speaks === true ? [client] : []))
}

function newcomer(world: World): SimClient[] {
  return world.plan.clients.slice(0, 1).map((plan) => world.attach({ ...plan, manners: 'proper' }))
}

type Try = { readonly client: SimClient; readonly facts: ServerFacts; readonly entry: Entry }

function tries(world: World, clients: readonly SimClient[]): Try[] {
  return clients
    .filter(({ speaks }) => speaks)
    .flatMap((client) => {
      client.request({ method: 'tools/list', budgetMs: 1200 })
      const made = world.host.servers.map(({ facts }) => {
        const entry = call(world, client, facts.plan, { kind: 'echo', ms: 1, n: 1 })
        return { client, facts, entry }
      })
      // With queues of size zero, calls of several clients must not come together, nor before a server has started.
      world.pass(SPACE_MS)
      return made
    })
}

function judgeTries(world: World, tried: readonly Try[]): void {
  for (const { client, facts, entry } of tried) {
    const [answer] = entry.answers
    if (answer?.ok === true || isStartTooLong(world, facts, entry) || isHeldUp(world, client, entry)) continue
    const what = `${client.name} called ${facts.plan.name} (${entry.nonce}) and heard ${answer?.text ?? 'nothing'}`
    world.host.ledger.fail('not-recovered', what)
  }
}

/** Whether the start, which takes more than half of the timeout, began with the call and left it too little time. */
function isStartTooLong(world: World, { plan, starts }: ServerFacts, { answers, heardAt }: Entry): boolean {
  const { initMs, timeoutMs } = plan
  // Another instance may receive the call first. It asks the store a few times.
  const wayMs = timeoutMs / 12 + ASKED_TIMES * (world.plan.instances?.delayMsMax ?? 0)
  if (heardAt === undefined || initMs <= timeoutMs / 2) return false
  const isTimeout = answers[0]?.text.includes('"reason":"timeout"') === true
  return isTimeout && starts.some((at) => Math.abs(at - heardAt) <= wayMs)
}

/** Calls that lost their questions with their responses occupy the process of this client for their total time. */
function isHeldUp(world: World, client: SimClient, { answers }: Entry): boolean {
  const text = answers[0]?.text ?? ''
  // A client that was paused receives its questions only now.
  const isWithoutRoom = hasNoRoom(world, client) || isFull(world, client)
  if (isWithoutRoom && text.includes('Too many requests in flight')) return true
  return lostCalls(client).length > 0 && /no turn for tool '|too many calls waiting/.test(text)
}

function lostCalls({ inbox }: SimClient): readonly unknown[] {
  return inbox.waiting.filter(({ entry }) => entry.excused && entry.mayStandStill)
}

/** Such calls also count as requests of the client in flight, so that the proxy refuses its list request. */
function hasNoRoom({ plan }: World, client: SimClient): boolean {
  return 2 * lostCalls(client).length >= plan.limits.callsMax
}

/** The client was last shown the tools that the server has now. */
function sees(world: World, client: SimClient): void {
  if (hasNoRoom(world, client)) return
  const isAlone = client.plan.http?.session === false
  for (const { facts } of world.host.servers) {
    // The process of another session lists again with the next call, and this client is not notified.
    if (isAlone && facts.plan.isolation === 'session') continue
    const own = client.inbox.lists.shown('tools/list', facts.plan.name)
    const what = `${client.name} sees ${own} of ${facts.tools} tools of ${facts.plan.name}`
    if (own !== facts.tools) world.host.ledger.fail('stale-list', what)
  }
}

function close(world: World): void {
  const { host } = world
  const { ledger } = host
  host.trace.note('op', 'close')
  let closed = false
  ledger.isClosing = true
  void world.close().then(() => (closed = true))
  if (!world.until(() => closed, CLOSE_MS))
    ledger.fail('not-closed', `close takes longer than ${CLOSE_MS} ms`)
  world.pass(CLOSE_MS)
  const present = [...host.ledger.present].filter(({ name }) => name !== EVERYBODY)
  const held = world.clients.filter(({ released }) => !released).map(({ name }) => name)
  const left: readonly (readonly [Check, number, string])[] = [
    ['left-child', host.alive, 'processes are left'],
    ['left-socket', host.sockets, 'connections are left'],
    ['left-timer', host.clock.pending('proxy'), 'timers are left'],
    ['left-client', present.length, 'clients are not let go'],
    ['left-stream', held.length, `clients have streams that are left: ${held.join()}`],
  ]
  for (const [check, count, what] of left) if (count > 0) ledger.fail(check, `${count} ${what}`)
}

// The HTTP front after clients have become idle, or have vanished.

/** Added to the idle time of a session: the interval between two checks, and the time that ending takes. */
const LOOK_MS = 25_000

/** The proxy must end the sessions that have neither requests nor a stream. */
function judgeFront(world: World): void {
  const { ledger, front } = world.host
  world.pass(SESSION_IDLE_MS + LOOK_MS)
  const listening = world.clients.filter(({ plan, wire }) => plan.http !== undefined && wire.hears).length
  const asking = world.clients.flatMap(openPosts).length + world.clients.filter(owes).length
  const what = `${front.served} clients are served over HTTP, and ${listening + asking} are there`
  if (front.served > listening + asking) ledger.fail('left-session', what)
}

/** Each open request without a session may have its own connection in the proxy. */
function openPosts({ plan, inbox }: SimClient): Entry[] {
  const waiting = plan.http === undefined ? [] : inbox.waiting.map(({ entry }) => entry)
  return waiting.filter(({ root, excused, isClosed }) => root !== undefined && !excused && !isClosed)
}

/** The client may have lost a question, or may have no stream for it. The session waits minutes for the answer. */
function owes({ plan, inbox }: SimClient): boolean {
  const waiting = plan.http === undefined ? [] : inbox.waiting
  return waiting.some(({ entry }) => entry.root === undefined && entry.mayStandStill)
}

// The end of a run with several instances: all of them serve every client again, and leave nothing behind once they
// are closed.

/** Longer than the lease of an ended instance, and than the grace period of one that is draining. */
const REST_MS = 15_000

/** A command on its way to the store is lost when its instance is killed. */
const UNDER_WAY_MS = 500

export function judgeInstances(world: World): void {
  calm(world)
  world.instances?.calm()
  world.pass(REST_MS)
  judgeEnded(world)
  // This lets clients notice that their session has ended with its instance.
  for (const client of world.plan.clients.keys()) perform(world, { gapMs: 0, kind: 'ping', client }, 0)
  world.pass(REST_MS)
  const seats = [...speaking(world), ...newcomer(world)]
  world.pass(REST_MS)
  const labels = world.instances?.labels ?? []
  // The balancer chooses an instance for each request.
  const round = (): readonly Try[] => labels.flatMap(() => tries(world, seats))
  // The first calls may time out while their servers start.
  round()
  world.pass(REST_MS)
  const tried = round()
  world.pass(REST_MS)
  judgeTries(world, tried)
  closeAll(world)
}

/** When a client ends its session, every instance must refuse it. */
function judgeEnded(world: World): void {
  const { ledger } = world.host
  for (const { plan, session, at } of ledger.ended) {
    const isUncertain = ledger.disturbances.some((disturbed) => Math.abs(disturbed - at) < UNDER_WAY_MS)
    if (isUncertain) continue
    for (const label of world.instances?.labels ?? [])
      visit(world, { plan, session, label }, () =>
        ledger.fail('ended-session', `${label} serves the session that ${plan.name} has ended`),
      )
  }
  world.pass(UNDER_WAY_MS)
}

// The last changes of a run. All servers work again, so each client that follows lists or resources must be notified
// of one more change.

const NEWS_MS = 3000
/** A change that must reach a client once more. */
interface News {
  readonly check: 'stale-list' | 'not-updated'
  readonly what: string
  /** How many notifications of it the client has received. */
  readonly count: () => number
}

/** Adds a tool to every server and changes a resource. */
function finalChanges(world: World): void {
  const servers = world.host.servers.filter(speaksUp)
  const clients = world.clients.filter(({ speaks }) => speaks)
  const all = clients.flatMap((client) => [
    ...(client.wire.hears ? newsOf(world, client, servers) : []),
    ...listenedBy(world, client, servers),
  ])
  const before = all.map(({ count }) => count())
  for (const server of servers) {
    grow(world, server)
    for (const script of server.scripts) script.updated()
  }
  world.pass(NEWS_MS)
  for (const [at, { check, what, count }] of all.entries())
    if (count() <= (before[at] ?? 0)) world.host.ledger.fail(check, what)
}

/** Whether the server can announce changes at any time. An idle server, or one without a stream, cannot. */
function speaksUp({ facts: { plan } }: SimServer): boolean {
  if (plan.kind === 'stdio') return plan.idleTimeoutMs === undefined
  return plan.standalone && !plan.faulty
}

/** Notifications outside of requests. A client that never sends `notifications/initialized` gets none. */
function newsOf(world: World, client: SimClient, servers: readonly SimServer[]): News[] {
  const { name, inbox, plan } = client
  const { lists } = inbox
  const isReady = plan.manners !== 'session' && lists.has('tools/list')
  const isTold = isReady && servers.some((server) => mustHear(world, client, server))
  const what = `${name} was not told that there are more tools`
  const tools = { check: 'stale-list', what, count: () => lists.told(TOOLS) } as const
  const updates = resourcesOf(world, servers)
    .filter((uri) => client.followed.has(uri) && !client.unfollowed.has(uri))
    .map((uri) => notUpdated(`${name} follows`, uri, () => inbox.updates(uri)))
  return isTold ? [tools, ...updates] : updates
}

function listenedBy(world: World, { inbox }: SimClient, servers: readonly SimServer[]): News[] {
  return inbox.listens.open.flatMap(({ entry, heard, news }) => {
    if (heard === undefined) return []
    const updates = resourcesOf(world, servers)
      .filter((uri) => heard.uris.includes(uri))
      .map((uri) => notUpdated(`${entry.nonce} listens for`, uri, () => news.get(uri) ?? 0))
    const what = `${entry.nonce} was not told that there are more tools`
    const tools = { check: 'stale-list', what, count: () => news.get(TOOLS) ?? 0 } as const
    // Each such request covers the lists of a server that never has sessions.
    const isOfAll = servers.some(
      ({ facts: { plan } }) => plan.isStateless === true && plan.protocol !== 'auto',
    )
    return heard.hasTools && isOfAll ? [...updates, tools] : updates
  })
}

function notUpdated(who: string, uri: string, count: () => number): News {
  return { check: 'not-updated', what: `${who} ${uri} and was not told that it has changed`, count }
}

function resourcesOf({ host }: World, servers: readonly SimServer[]): string[] {
  const names = servers.map(({ facts }) => facts.plan.name)
  return names.filter((name) => !host.ledger.replaced.has(name)).map((name) => `sim://${name}/a`)
}

/** Methods that do not start a process for a single client. */
const asked = ['initialize', 'ping', 'no/such', 'logging/setLevel']
const quiet: ReadonlySet<string> = new Set([...asked, ...Object.keys(lists)])

/**
 * Whether a process notifies the proxy of changes in the lists that the client sees.
 *
 * Until its own process starts, a client sees the lists that are kept for its capabilities, or those of the shared
 * process.
 */
function mustHear(world: World, client: SimClient, { facts, scripts }: SimServer): boolean {
  const up = scripts.filter(({ isUp }) => isUp)
  // The process ended before the proxy knew that the server has no sessions. Each client that calls then starts one.
  const isForEach = up.length > facts.plan.processes && !up.some((script) => script.serves(client.name))
  if (isForEach && facts.plan.protocol === 'auto') return false
  if (!isAlone(client, facts.plan) || world.plan.ownStart === 'with-client') return true
  // The process that served the client may be the one for its requests without a session.
  const sent = world.host.ledger.all.filter((entry) => entry.client === client.name)
  if (sent.some(({ root }) => root !== undefined)) return false
  if (up.some((script) => script.serves(client.name))) return true
  const own = setOf(client.plan.capabilities)
  const isShown = ['', own].every((set) => up.some(({ declared }) => declared === set))
  return isShown && isIn('auto', facts.plan) && sent.every(({ method }) => quiet.has(method))
}

function isAlone({ plan }: SimClient, server: ServerPlan): boolean {
  // A server without sessions is shared by all clients. With `auto`, the proxy may not know that before the first
  // call starts it.
  const isFound = server.protocol !== 'auto' || !isIn('session', server)
  if (server.isStateless === true && isFound) return false
  return isIn('session', server) || (isIn('auto', server) && plan.capabilities.length > 0)
}

/** Sessions over HTTP always use `auto`. */
function isIn(isolation: ServerPlan['isolation'], server: ServerPlan): boolean {
  return (server.kind === 'http' ? 'auto' : server.isolation) === isolation
}
