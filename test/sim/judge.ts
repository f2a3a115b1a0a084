// The end of a run: nothing is broken any more, so everything must come to rest,
// work again, and leave nothing behind once it is closed.

import type { ShownState } from '../../src/upstream/contracts/upstream.js'
import { call, perform, visit, grow } from './perform.js'
import type { SimClient } from './client.js'
import { EVERYBODY, SESSION_IDLE_MS } from './configuration.js'
import type { Check } from './checks.js'
import type { Entry } from './ledger.js'
import { START_MS, type ServerPlan } from './plan.js'
import { type ServerFacts, type SimServer, lists } from './server.js'
import type { World } from './world.js'
import { toolsOf } from './list-watch.js'
import { setOf } from './script.js'

/** Processes for every client at every server, and for those that are being replaced. */
const ENOUGH = 64

/** By then everything works again. */
const RECOVERY_MS = 60_000

/**
 * When calls are tried meanwhile, the last of which must be answered well.
 *
 * A server that kept crashing is left alone for 36 s at most. The first call after that starts the process of its client, and
 * a client that listens to no stream sees with its next list what that process has.
 */
const TRIES_MS = [37_000, 13_000] as const

/** Ways to the store or back, of a call that another instance serves. */
const ASKED_TIMES = 8

const SPACE_MS = 1000

/** How long a call waits for its client, and a little more. */
const PARKED_MS = 310_000

/** Clients that try; a new one comes besides. */
const SEATS_MAX = 2

/** What closing may take: the calls that are left, and the whole ladder of the slowest process. */
const CLOSE_MS = 20_000

export function judge(world: World): void {
  calm(world)
  // Where there are not processes enough for everybody, somebody stays without.
  if (world.plan.limits.processesMax >= ENOUGH) recover(world)
  else world.pass(RECOVERY_MS)
  if (world.plan.front !== undefined) judgeFront(world)
  judgeParked(world)
  closeAll(world)
}

/** Whoever has not come back until now does not come back: nothing waits for it for ever. */
function judgeParked(world: World): void {
  if (!world.plan.clients.some(({ sets }) => sets !== undefined)) return
  world.pass(PARKED_MS)
  world.host.ledger.parkedLeft()
}

/** Closes the proxy, and looks for what is left of it. */
export function closeAll(world: World): void {
  close(world)
  world.host.ledger.close()
  world.counted.judge(world.host.ledger)
  world.audit.judge(world.host.ledger)
}

/** Faults stop, and whoever took nothing takes everything. */
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
  for (const { name, state, error } of world.proxy.status()) {
    if (state !== 'connected' && !isUnused(world, name, state, from))
      ledger.fail('not-ready', `${name} is ${state} after a minute: ${error}`)
  }
  for (const client of seats) if (client.speaks) sees(world, client)
  finalChanges(world)
}

/** It has a process for every client that calls it, and none is there or has called since `from`. */
function isUnused({ host }: World, name: string, state: ShownState, from: number): boolean {
  const server = host.servers.find(({ facts }) => facts.plan.name === name)
  const isNew = server?.facts.starts.some((at) => at >= from)
  const isAtRest = state === 'disconnected' && server?.scripts.some(({ isUp }) => isUp) === false
  const isAlone = host.ledger.present.size === 0
  const isolation = server?.facts.plan.isolation
  if (isolation === 'session') return isAtRest || isAlone || isNew === false
  // The last client had a process of its own.
  return isolation === 'auto' && isAtRest && isAlone
}

/** It lost the connection with its `initialize` on it, and will never have an answer. */
function isLost({ host }: World, { name }: SimClient): boolean {
  const first = host.ledger.entries.get(`${name}-1`)
  return first?.method === 'initialize' && first.excused
}

/** All that it may ask at once waits for what it does not answer: nobody at a server without sessions gives that up. */
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

/** A client that comes when all is well again. */
function newcomer(world: World): SimClient[] {
  return world.plan.clients.slice(0, 1).map((plan) => world.attach({ ...plan, manners: 'proper' }))
}

/** A call of one server, which must be answered well. */
interface Try {
  readonly client: SimClient
  readonly facts: ServerFacts
  readonly entry: Entry
}

/** Calls of every server by each of these clients. */
function tries(world: World, clients: readonly SimClient[]): Try[] {
  return clients
    .filter(({ speaks }) => speaks)
    .flatMap((client) => {
      client.request({ method: 'tools/list', budgetMs: 1200 })
      const made = world.host.servers.map(({ facts }) => {
        const entry = call(world, client, facts.plan, { kind: 'echo', ms: 1, n: 1 })
        return { client, facts, entry }
      })
      // Where calls may not wait, those of several clients must not come together, nor before a server has started.
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

/**
 * The server was started for this call or its client, and the start alone took longer than the call may.
 *
 * It takes most of the time by itself, and its pipes the rest; the proxy had not waited for more than a twelfth of it.
 */
function isStartTooLong(world: World, { plan, starts }: ServerFacts, { answers, heardAt }: Entry): boolean {
  const { initMs, timeoutMs } = plan
  // Another instance may have it first, which asks the store a few times.
  const wayMs = timeoutMs / 12 + ASKED_TIMES * (world.plan.instances?.delayMsMax ?? 0)
  if (heardAt === undefined || initMs <= timeoutMs / 2) return false
  const isTimeout = answers[0]?.text.includes('"reason":"timeout"') === true
  return isTimeout && starts.some((at) => Math.abs(at - heardAt) <= wayMs)
}

/** Questions were lost with the responses of their calls, which have the process of this client until their whole time is over. */
function isHeldUp(world: World, client: SimClient, { answers }: Entry): boolean {
  const text = answers[0]?.text ?? ''
  // One that read nothing for a while hears only now what it is asked.
  const isWithoutRoom = hasNoRoom(world, client) || isFull(world, client)
  if (isWithoutRoom && text.includes('Too many requests in flight')) return true
  return lostCalls(client).length > 0 && /no turn for tool '|too many calls waiting/.test(text)
}

function lostCalls({ inbox }: SimClient): readonly unknown[] {
  return inbox.waiting.filter(({ entry }) => entry.excused && entry.mayStandStill)
}

/** Such calls fill what a client may have in flight, so that its list is refused too. */
function hasNoRoom({ plan }: World, client: SimClient): boolean {
  return 2 * lostCalls(client).length >= plan.limits.callsMax
}

/** The tools that a client was last told of are those that there are. */
function sees(world: World, client: SimClient): void {
  if (hasNoRoom(world, client)) return
  const isAlone = client.plan.http?.session === false
  for (const { facts } of world.host.servers) {
    // A process for each session lists again with the next call, and nobody tells this client.
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

// What is left of the HTTP front when clients rest, or have gone without a word.

/** Besides the time that a session may be idle: from one look for those to the next, and their end. */
const LOOK_MS = 25_000

/** Sessions end that nobody uses or listens to. */
function judgeFront(world: World): void {
  const { ledger, front } = world.host
  world.pass(SESSION_IDLE_MS + LOOK_MS)
  const listening = world.clients.filter(({ plan, wire }) => plan.http !== undefined && wire.hears).length
  const asking = world.clients.flatMap(openPosts).length + world.clients.filter(owes).length
  const what = `${front.served} clients are served over HTTP, and ${listening + asking} are there`
  if (front.served > listening + asking) ledger.fail('left-session', what)
}

/** Requests without a session each may have a connection of its own in the proxy. */
function openPosts({ plan, inbox }: SimClient): Entry[] {
  const waiting = plan.http === undefined ? [] : inbox.waiting.map(({ entry }) => entry)
  return waiting.filter(({ root, excused, isClosed }) => root !== undefined && !excused && !isClosed)
}

/** What it was asked it may have lost, or have no stream for: its session waits for it, for minutes. */
function owes({ plan, inbox }: SimClient): boolean {
  const waiting = plan.http === undefined ? [] : inbox.waiting
  return waiting.some(({ entry }) => entry.root === undefined && entry.mayStandStill)
}

// The end of a run with several instances: all of them serve every client again, and nothing is left once they are closed.

/** A lease of an instance that has ended is over by then, and so is the grace of one that finishes what it has. */
const REST_MS = 15_000

/** What was on its way to the store, when its instance was killed, is lost. */
const UNDER_WAY_MS = 500

export function judgeInstances(world: World): void {
  calm(world)
  world.instances?.calm()
  world.pass(REST_MS)
  judgeEnded(world)
  // Clients whose sessions have ended with an instance notice that now.
  for (const client of world.plan.clients.keys()) perform(world, { gapMs: 0, kind: 'ping', client }, 0)
  world.pass(REST_MS)
  const seats = [...speaking(world), ...newcomer(world)]
  world.pass(REST_MS)
  const labels = world.instances?.labels ?? []
  // The balancer chooses for each request.
  const round = (): readonly Try[] => labels.flatMap(() => tries(world, seats))
  // The first calls may wait too long for the start of their server.
  round()
  world.pass(REST_MS)
  const tried = round()
  world.pass(REST_MS)
  judgeTries(world, tried)
  closeAll(world)
}

/** A session that its client has ended is ended for every instance. */
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

// The last changes of a run: everything works again, so each client that follows lists or resources must be notified of
// one more change, whatever happened to the servers before.

/** By then it is known everywhere. */
const NEWS_MS = 3000

const LIST_CHANGED = 'notifications/tools/list_changed'

/** What a client must hear of once more. */
interface News {
  readonly check: 'stale-list' | 'not-updated'
  readonly what: string
  /** How often it has heard of it. */
  readonly count: () => number
}

/** Every server has a tool more, and a resource that has changed. */
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

/** It says what changes at any time: one that rests, or has no way to say it, tells nobody. */
function speaksUp({ facts: { plan } }: SimServer): boolean {
  if (plan.kind === 'stdio') return plan.idleTimeoutMs === undefined
  return plan.standalone && !plan.faulty
}

/** What it hears of beside its requests: who never says that it is ready hears of no changes. */
function newsOf(world: World, client: SimClient, servers: readonly SimServer[]): News[] {
  const { name, inbox, plan } = client
  const { lists } = inbox
  const isReady = plan.manners !== 'session' && lists.has('tools/list')
  const isTold = isReady && servers.some((server) => mustHear(world, client, server))
  const what = `${name} was not told that there are more tools`
  const tools = { check: 'stale-list', what, count: () => lists.told(LIST_CHANGED) } as const
  const updates = resourcesOf(world, servers)
    .filter((uri) => client.followed.has(uri) && !client.unfollowed.has(uri))
    .map((uri) => notUpdated(`${name} follows`, uri, () => inbox.updates(uri)))
  return isTold ? [tools, ...updates] : updates
}

/** What it is told on account of requests that stay open. */
function listenedBy(world: World, { inbox }: SimClient, servers: readonly SimServer[]): News[] {
  return inbox.listens.open.flatMap((listen) => {
    const { entry, heard, news } = listen
    if (heard === undefined) return []
    const updates = resourcesOf(world, servers)
      .filter((uri) => heard.uris.includes(uri))
      .map((uri) => notUpdated(`${entry.nonce} listens for`, uri, () => news.get(uri) ?? 0))
    const what = `${entry.nonce} was not told that there are more tools`
    const tools = { check: 'stale-list', what, count: () => toolsOf(listen) } as const
    return heard.hasTools && servers.some(isOfAll) ? [...updates, tools] : updates
  })
}

function notUpdated(who: string, uri: string, count: () => number): News {
  return { check: 'not-updated', what: `${who} ${uri} and was not told that it has changed`, count }
}

/** A resource of each server that is still the same. */
function resourcesOf({ host }: World, servers: readonly SimServer[]): string[] {
  const names = servers.map(({ facts }) => facts.plan.name)
  return names.filter((name) => !host.ledger.replaced.has(name)).map((name) => `sim://${name}/a`)
}

/** Whoever listens sees its lists, whatever it can be asked. */
function isOfAll({ facts: { plan } }: SimServer): boolean {
  return plan.isStateless === true && plan.protocol !== 'auto'
}

// Which clients must hear what one server says of its lists.

/** What starts no process that only one client uses. */
const asked = ['initialize', 'ping', 'no/such', 'logging/setLevel']
const quiet: ReadonlySet<string> = new Set([...asked, ...Object.keys(lists)])

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
  return host.ledger.all.some(({ client, root }) => client === name && root !== undefined)
}

function isQuiet({ host }: World, { name }: SimClient): boolean {
  const own = host.ledger.all.filter((entry) => entry.client === name)
  return own.every(({ method }) => quiet.has(method))
}
