import type { Asking, SimClient } from './client.js'
import { LIST_MS, OWN_MS } from './configuration.js'
import { CAREFUL, isCareful } from './consent.js'
import { HttpRequests, requestText } from './http-requests.js'
import type { Entry } from './ledger.js'
import type { ClientPlan, Op, OpOf, Read, ServerPlan, Work } from './plan.js'
import { GONE, ODDITIES, answeredKinds } from './plan.js'
import type { RequestMeta } from './request-meta.js'
import type { Script } from './script.js'
import type { SimServer } from './server.js'
import { StatelessCall } from './stateless-call.js'
import type { World } from './world.js'

type ClientOp = Extract<Op, { readonly client: number }>
type ServerOp = Exclude<Extract<Op, { readonly server: number }>, ClientOp>

const LISTENS_MAX = 8

export function perform(world: World, op: Op, number: number): void {
  world.host.trace.note('op', JSON.stringify(op))
  if ('client' in op) return onClient(world, op)
  if (op.kind === 'clock') return world.host.jumpWall(op.days)
  if (op.kind === 'restart') return world.instances?.restart(op)
  if (op.kind === 'away') return world.instances?.away(op)
  const server = world.host.servers[op.server]
  if (server !== undefined) onServer(world, server, op, number)
}

function onClient(world: World, op: ClientOp): void {
  const plan = world.plan.clients[op.client]
  if (plan === undefined) return
  const client = world.seats[op.client]
  if (op.kind === 'attach') {
    if (client?.speaks !== true) world.seats[op.client] = world.attach(plan)
  } else if (client?.speaks === true) {
    if ('server' in op) {
      const server = world.plan.servers[op.server]
      if (server !== undefined) asksServer(world, client, server, op)
    } else act(world, client, op)
  }
}

/** The proxy answers these requests itself. */
const own = { budgetMs: OWN_MS, mustSucceed: true } as const

function act(
  world: World,
  client: SimClient,
  op: Exclude<ClientOp, OpOf<'attach'> | { readonly server: number }>,
): void {
  switch (op.kind) {
    case 'list':
      return list(world, client, op.method)
    case 'stateless-list':
      return list(world, client, op.method, op)
    case 'listen':
      return listen(world, client, op)
    case 'unlisten': {
      const [first] = client.inbox.listens.open
      return first && client.cancel(first.entry)
    }
    case 'level':
      return void client.request({ ...own, method: 'logging/setLevel' }, () => '"level":"debug"')
    case 'ping':
      return void client.request({ ...own, method: 'ping' })
    case 'unknown':
      // The only server may know the method, and answers after it has started.
      return void client.request({ method: 'no/such', budgetMs: LIST_MS })
    case 'roots':
      return client.notify('notifications/roots/list_changed')
    case 'garbage':
      return client.say('{"jsonrpc":"2.0", what?')
    case 'twin': {
      // A request with an id that is in use.
      const calls = client.inbox.waiting.filter(({ entry }) => entry.method === 'tools/call')
      const last = calls.findLast(({ entry }) => entry.root === undefined)
      return last && client.again(last.entry.id)
    }
    case 'cancel':
      return cancel(client, op.back)
    case 'pause':
    case 'resume':
      return client.read(op.kind === 'resume')
    case 'finish':
      return client.finish()
    case 'vanish':
      return client.vanish()
    case 'cut':
      return client.wire.cut()
    case 'steal':
      return steal(world, client, world.seats[op.from])
  }
}

function asksServer(
  world: World,
  client: SimClient,
  plan: ServerPlan,
  op: Extract<ClientOp, { readonly server: number }>,
): void {
  switch (op.kind) {
    case 'call':
      return void call(world, client, plan, op.work, op.spelling, plan.confirms)
    case 'batch':
      return batch(world, client, plan, op.works)
    case 'read':
      return void client.request(ofAnyServer(world, plan, op.method), readParams(plan, op))
    case 'stateless-call':
      return statelessCall(world, client, plan, op)
    case 'stateless-read':
      return statelessRead(world, client, plan, op)
    case 'gone':
      return void client.request(
        toServer(world, plan, 'tools/call'),
        (nonce) => `"name":"${plan.name}__${GONE}","arguments":{"nonce":"n:${nonce};"}`,
      )
    case 'subscribe':
      return subscribe(world, client, plan, op.on)
  }
}

function list(world: World, client: SimClient, method: string, meta?: RequestMeta): void {
  const { limits, servers } = world.plan
  // A list needs at least one server that works.
  const mustSucceed =
    limits.roomy && servers.some(({ faulty, name }) => !faulty && !world.host.ledger.replaced.has(name))
  client.request({ method, budgetMs: LIST_MS, mustSucceed, meta })
}

export function call(
  world: World,
  client: SimClient,
  plan: ServerPlan,
  work: Work,
  spelling: OpOf<'call'>['spelling'] = 'number',
  mayBeCareful = false,
): Entry {
  const mustSucceed = isUndisturbed(world, plan) && isSure(plan, work)
  const token = work.kind === 'progress'
  return client.request(
    { ...toServer(world, plan, 'tools/call'), mustSucceed, spelling, token },
    (nonce) => callParams(plan, work, nonce, mayBeCareful),
    ({ entry }) => mayBeCareful && needsConsent(entry),
  )
}

/** The timeouts of the call pause while its user is asked. */
function needsConsent(entry: Entry): void {
  if (!isCareful(entry.nonce)) return
  entry.consent = 'needed'
  entry.mustSucceed = false
  entry.mayStandStill = true
}

function callParams(plan: ServerPlan, work: Work, nonce: string, mayBeCareful = false): string {
  const tool = mayBeCareful && isCareful(nonce) ? CAREFUL : 'work'
  const args = JSON.stringify({ nonce: `n:${nonce};`, ...work }).slice(0, -1)
  return `"name":"${plan.name}__${tool}","arguments":${args},${ODDITIES}}`
}

function toServer(world: World, plan: ServerPlan, method: string): Asking {
  // The proxy knows the owner of the tool, and so its timeout, only once the servers have started. When the server
  // has been removed, its prefix means nothing, and the name may belong to any server.
  const isOne = world.instances === undefined && !world.host.ledger.replaced.has(plan.name)
  const isKnown = isOne && world.proxy.status().every(({ state }) => state === 'connected')
  const budgetMs = isKnown && !plan.faulty ? plan.timeoutMs : Math.max(plan.timeoutMs, LIST_MS)
  return { method, service: plan.name, budgetMs }
}

function isUndisturbed({ plan: { limits }, host }: World, { faulty, name }: ServerPlan): boolean {
  return !faulty && limits.roomy && !host.ledger.replaced.has(name)
}

/** Only the server itself could prevent an answer. */
function isSure(plan: ServerPlan, { kind, ms }: Work): boolean {
  // All clients share the process of a server without sessions, so the call of another client may have restarted it.
  const isShared = plan.isolation === 'shared' || (plan.isStateless === true && plan.onTimeout === 'restart')
  const isAlone = plan.kind === 'http' || (plan.concurrency >= 64 && !isShared)
  const isAnswered = kind !== 'ask' && kind !== 'refuse' && answeredKinds.has(kind)
  return isAlone && isAnswered && plan.initMs + ms < plan.timeoutMs / 4
}

/** Opens a `subscriptions/listen` request, which stays open until `unlisten`. */
function listen(world: World, client: SimClient, op: OpOf<'listen'>): void {
  const { listens } = client.inbox
  // Each one counts as a request of the client in flight, so some capacity must remain.
  if (listens.open.length >= Math.min(LISTENS_MAX, world.plan.limits.callsMax / 4)) return
  const uris = op.followed.flatMap((at) => world.plan.servers[at] ?? []).map(({ name }) => `sim://${name}/a`)
  const members = [
    ...(op.hasTools ? ['"toolsListChanged":true'] : []),
    ...(uris.length === 0 ? [] : [`"resourceSubscriptions":${JSON.stringify(uris)}`]),
  ]
  client.request(
    { method: 'subscriptions/listen', budgetMs: OWN_MS, meta: op },
    () => `"notifications":{${members.join(',')}}`,
    (waiting) => {
      listens.begin(waiting.entry, { uris, hasTools: op.hasTools })
      waiting.next = (ok, text) => {
        const listened = ok ? listens.of(text)?.listen : undefined
        // A client that has ended its input may still be notified that the subscription has ended.
        if (listened !== undefined && client.speaks) listens.ended(listened, text)
      }
    },
  )
}

function batch(world: World, client: SimClient, plan: ServerPlan, works: readonly Work[]): void {
  if (client.plan.revision !== '2025-03-26' || client.plan.manners !== 'proper') return
  // A batch is answered when its last member is, so all members go to one server.
  const made = works.map((work) =>
    client.prepare(toServer(world, plan, 'tools/call'), (nonce) => callParams(plan, work, nonce)),
  )
  const entries = made.map(({ entry }) => entry)
  // One member may wait for an answer of the client.
  if (plan.isStateless === true) for (const entry of entries) entry.untimed = true
  client.say(`[${made.map(({ text }) => text).join(',')}]`, entries)
}

/** A resource in no list is requested from one server after another. */
function ofAnyServer(world: World, plan: ServerPlan, method: string): Asking {
  const asking = toServer(world, plan, method)
  const allMs = world.plan.servers.reduce((sum, { timeoutMs }) => sum + timeoutMs, 0)
  return { ...asking, budgetMs: Math.max(asking.budgetMs, allMs) }
}

/** The name or URI carries the nonce, so that the server can repeat it in its question. */
function readParams({ name }: ServerPlan, { method, asks }: Read): (nonce: string) => string {
  const ask = (nonce: string): string => `ask/${asks}/n:${nonce};`
  const args = (nonce: string): string => (asks === undefined ? '' : `,"arguments":{"ask":"${ask(nonce)}"}`)
  switch (method) {
    case 'resources/read':
      return (nonce) => `"uri":"sim://${name}/${asks === undefined ? 't/x' : ask(nonce)}"`
    case 'prompts/get':
      return (nonce) => `"name":"${name}__hello"${args(nonce)}`
    case 'completion/complete':
      return () => `"ref":{"type":"ref/prompt","name":"${name}__hello"},"argument":{"name":"a","value":""}`
  }
}

function statelessRead(world: World, client: SimClient, plan: ServerPlan, op: OpOf<'stateless-read'>): void {
  const asking = ofAnyServer(world, plan, op.method)
  if (op.asks === undefined) return void client.request({ ...asking, meta: op }, readParams(plan, op))
  const { returns = 'answers', afterMs = 0 } = op
  const call = new StatelessCall(world, client, plan, { ...op, returns, afterMs })
  call.begin(asking, readParams(plan, op))
}

/** The client comes back with answers when the server asks. */
function statelessCall(world: World, client: SimClient, plan: ServerPlan, op: OpOf<'stateless-call'>): void {
  const asking = { ...toServer(world, plan, 'tools/call'), token: op.work.kind === 'progress' }
  // The total time of the call runs while the client is asked.
  const time: Work = { kind: 'echo', ms: 4 * op.work.ms, n: 1 }
  // A request state expires by the wall clock.
  const isClockSet = world.plan.ops.some(({ kind }) => kind === 'clock')
  const isLikely = isUndisturbed(world, plan) && plan.total !== undefined && isSure(plan, time) && !isClockSet
  const mayBeCareful = plan.confirms === true
  let nonceOfCall = ''
  const isSteady = (): boolean =>
    isLikely && !world.host.ledger.replaced.has(plan.name) && !(mayBeCareful && isCareful(nonceOfCall))
  new StatelessCall(world, client, plan, op, isSteady).begin(
    asking,
    (nonce) => callParams(plan, op.work, (nonceOfCall = nonce), mayBeCareful),
    (entry) => mayBeCareful && needsConsent(entry),
  )
}

function subscribe(world: World, client: SimClient, plan: ServerPlan, on: boolean): void {
  const uri = `sim://${plan.name}/a`
  if (on) client.inbox.followed.add(uri)
  else client.unfollowed.add(uri)
  client.request(
    ofAnyServer(world, plan, on ? 'resources/subscribe' : 'resources/unsubscribe'),
    () => `"uri":"${uri}"`,
    (waiting) => {
      waiting.next = (ok) => ok && on && client.followed.add(uri)
    },
  )
}

function cancel(client: SimClient, back: number): void {
  // Without a session, a request of an older revision and its cancel look like two clients.
  const isAlone = client.plan.http?.session === false
  const waiting = client.inbox.waiting.filter(
    ({ entry }) => entry.method === 'tools/call' && (!isAlone || entry.root !== undefined),
  )
  const entry = waiting.at(-1 - back)?.entry
  if (entry !== undefined && entry.cancelledAt === undefined) client.cancel(entry)
}

function onServer(world: World, server: SimServer, op: ServerOp, number: number): void {
  const { facts, scripts } = server
  const { name, kind, faulty } = facts.plan
  switch (op.kind) {
    case 'changed':
      return grow(world, server)
    case 'updated':
    case 'log':
      for (const script of scripts) script[op.kind]()
      return
    case 'fault':
      return faulty ? strike(world, server, op, number) : undefined
    case 'reload':
      return reload(world, name, op.how)
    case 'unlisted':
      if (!faulty) return
      // The server comes back, but refuses to list.
      facts.refusesLists = true
      strike(world, server, { fault: kind === 'http' ? 'http-404' : 'kill-9', seconds: op.seconds }, number)
  }
}

/** Adds a tool, unless the server could not announce it. */
export function grow(world: World, server: SimServer): void {
  const { kind, standalone, faulty } = server.facts.plan
  if (kind === 'http' && (!standalone || faulty)) return
  server.facts.grow(world.host.clock.now)
  for (const script of server.scripts) tellChange(world, script, 20)
}

/** Repeats the notification until the server has a stream for it. */
function tellChange(world: World, script: Script, tries: number): void {
  if (tries === 0 || script.toolsChanged()) return
  world.host.clock.after(500, () => tellChange(world, script, tries - 1))
}

type Fault = Pick<OpOf<'fault'>, 'fault' | 'seconds'>

function strike({ host }: World, server: SimServer, { fault, seconds }: Fault, number: number): void {
  if (fault === 'enospc') host.diskFull = true
  server.strike(fault, host.dice(`fault ${number}`))
  host.clock.after(seconds * 1000, () => {
    host.diskFull = false
    server.mend()
  })
}

/** Replacing a server may end each of its calls with one error. */
function reload(world: World, name: string, how: OpOf<'reload'>['how']): void {
  const { ledger } = world.host
  ledger.reloaded(name)
  for (const entry of ledger.all) {
    if (entry.service === name || entry.method.endsWith('/list')) entry.mustSucceed = false
    // A call that comes after the change may be for any server that is starting.
    if (entry.service === name && entry.answers.length === 0)
      entry.budgetMs = Math.max(entry.budgetMs, LIST_MS)
  }
  world.reload(name, how)
}

// Single requests in the sessions of other clients, and in sessions that have ended.

interface Visit {
  readonly plan: ClientPlan
  readonly session: string
  /** By default the balancer chooses the instance. */
  readonly label?: string
}

export function visit({ host }: World, { plan, session, label }: Visit, onServed: () => void): void {
  const { http } = plan
  if (http === undefined) return
  const name = `visitor ${label} ${session.slice(-8)} ${host.clock.now}`
  const requests = new HttpRequests(
    { context: host, front: host.front, plan, http },
    'visits',
    () => name,
    label,
  )
  const body = '{"jsonrpc":"2.0","id":"visit","method":"ping"}'
  const request = { method: 'POST', session, revision: plan.revision, body } as const
  const head = (status: number): void => {
    if (status < 300) onServed()
    requests.leave('close')
  }
  requests.send(requestText(request, http, host.dice(name)), { head })
}

function steal(world: World, thief: SimClient, owner: SimClient | undefined): void {
  const session = owner?.wire.session
  if (owner === undefined || session === undefined) return
  if (thief.plan.http?.token === owner.plan.http?.token) return
  const plan = world.host.wrong.trustsIds === true ? owner.plan : thief.plan
  visit(world, { plan, session }, () =>
    world.host.ledger.fail('stolen-session', `${thief.name} was served in the session of ${owner.name}`),
  )
}
