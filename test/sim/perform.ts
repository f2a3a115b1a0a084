// One operation, done to a world.

import type { RequestMeta } from './request-meta.js'
import { StatelessCall, type StatelessCallParts } from './stateless-call.js'
import type { Asking } from './asking.js'
import type { SimClient } from './client.js'
import { CAREFUL, isCareful } from './consent.js'
import { GRACE_MS, OWN_MS } from './configuration.js'
import { performOnServer } from './server-ops.js'
import { GONE } from './kept-plan.js'
import type { Entry } from './ledger.js'
import type { Op, ReadMethod, ServerPlan } from './plan.js'
import { ODDITIES, type Work, answeredKinds } from './work.js'
import { steal } from './visit.js'
import type { World } from './world.js'

/** Requests of one client that stay open. */
const LISTENS_MAX = 8

export function perform(world: World, op: Op, number: number): void {
  world.host.trace.note('op', JSON.stringify(op))
  if ('client' in op) return onClient(world, op)
  if (op.kind === 'clock') return world.host.jumpWall(op.days)
  if (op.kind === 'restart') return world.instances?.restart(op)
  if (op.kind === 'away') return world.instances?.away(op)
  performOnServer(world, op, number)
}

type ClientOp = Extract<Op, { readonly client: number }>

function onClient(world: World, op: ClientOp): void {
  const plan = world.plan.clients[op.client]
  if (plan === undefined) return
  const client = world.seats[op.client]
  if (op.kind === 'attach') {
    if (client === undefined || !client.speaks) world.seats[op.client] = world.attach(plan)
    return
  }
  if (client?.speaks === true) act(world, client, op)
}

function act(world: World, client: SimClient, op: Exclude<ClientOp, { readonly kind: 'attach' }>): void {
  switch (op.kind) {
    case 'call':
      return void call(world, client, op.server, op.work, op.spelling, mayNeedConsent(world, op.server))
    case 'batch':
      return batch(world, client, op)
    case 'read':
      return read(world, client, op)
    case 'list':
      return list(world, client, op.method)
    case 'stateless-call':
      return statelessCall(world, client, op)
    case 'stateless-read':
      return op.asks === undefined ? read(world, client, op, op) : statelessRead(world, client, op)
    case 'stateless-list':
      return list(world, client, op.method, op)
    case 'listen':
      return listen(world, client, op)
    case 'unlisten': {
      const [first] = client.inbox.listens.open
      return first === undefined ? undefined : client.cancel(first.entry)
    }
    case 'gone':
      return gone(world, client, op.server)
    case 'subscribe':
      return subscribe(world, client, op)
    case 'level':
      return void client.request({ ...own, method: 'logging/setLevel' }, () => '"level":"debug"')
    case 'ping':
      return void client.request({ ...own, method: 'ping' }, () => '')
    case 'unknown':
      // The only server may have the method, and says so when it has started.
      return void client.request(
        { ...own, method: 'no/such', budgetMs: GRACE_MS + OWN_MS, mustSucceed: false },
        () => '',
      )
    case 'roots':
      return client.notify('notifications/roots/list_changed')
    case 'garbage':
      return client.say('{"jsonrpc":"2.0", what?')
    case 'twin':
      return twin(client)
    case 'cancel':
      return cancel(client, op.back)
    case 'pause':
      return client.read(false)
    case 'resume':
      return client.read(true)
    case 'finish':
      return client.finish()
    case 'vanish':
      return client.vanish()
    case 'cut':
      return client.cut()
    case 'steal':
      return steal(world, client, world.seats[op.from])
  }
}

/** What the proxy answers by itself. */
const own = {
  service: undefined,
  budgetMs: OWN_MS,
  mustSucceed: true,
  spelling: 'number',
  token: false,
} as const

function list(world: World, client: SimClient, method: string, meta?: RequestMeta): void {
  const { limits, servers } = world.plan
  // Where no server can be reached there is no list either.
  const mustSucceed =
    limits.roomy && servers.some(({ faulty, name }) => !faulty && !world.host.ledger.replaced.has(name))
  const asking = { ...own, method, budgetMs: GRACE_MS + OWN_MS, mustSucceed }
  client.request(meta === undefined ? asking : { ...asking, meta }, () => '')
}

/** Asks a server to work. */
export function call(
  world: World,
  client: SimClient,
  at: number,
  work: Work,
  spelling: Extract<Op, { readonly kind: 'call' }>['spelling'] = 'number',
  mayBeCareful = false,
): Entry | undefined {
  const plan = world.plan.servers[at]
  if (plan === undefined) return undefined
  const asking = {
    ...toServer(world, plan),
    method: 'tools/call',
    spelling,
    token: work.kind === 'progress',
  } as const
  const mustSucceed = asking.mustSucceed && isSure(plan, work)
  return client.request(
    { ...asking, mustSucceed },
    (nonce) => callParams(plan, work, nonce, mayBeCareful),
    ({ entry }) => mayBeCareful && needsConsent(entry),
  )
}

function mayNeedConsent({ plan }: World, server: number): boolean {
  return plan.servers[server]?.confirms === true
}

/** Its time stands still while its user is asked. */
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

/** A request for one server: what can be expected of it. */
function toServer(
  world: World,
  plan: ServerPlan,
): { service: string; budgetMs: number; mustSucceed: boolean } {
  const isReplaced = world.host.ledger.replaced.has(plan.name)
  const isLeft = !plan.faulty && world.plan.limits.roomy && !isReplaced
  // Whose tool it is, and with it the time that the call has, is known only when the servers are. Where the server
  // is not there any more, its prefix is none, and the name may be of any.
  const isOne = world.instances === undefined
  const isKnown = isOne && !isReplaced && world.proxy.status().every(({ state }) => state === 'connected')
  const budgetMs = isKnown && !plan.faulty ? plan.timeoutMs : Math.max(plan.timeoutMs, GRACE_MS + OWN_MS)
  return { service: plan.name, budgetMs, mustSucceed: isLeft }
}

/** Nothing but the server itself can be in the way of an answer. */
function isSure(plan: ServerPlan, { kind, ms }: Work): boolean {
  // Without sessions everybody shares a process, which a call of others may have started anew.
  const isShared = plan.isolation === 'shared' || (plan.isStateless === true && plan.onTimeout === 'restart')
  const isAlone = plan.kind === 'http' || (plan.concurrency >= 64 && !isShared)
  return (
    isAlone &&
    kind !== 'ask' &&
    kind !== 'refuse' &&
    answeredKinds.has(kind) &&
    plan.initMs + ms < plan.timeoutMs / 4
  )
}

/** Wants to hear of changes until it says that it does not. */
function listen(world: World, client: SimClient, op: Extract<Op, { readonly kind: 'listen' }>): void {
  // Each takes a place among the calls of its client, which needs others.
  if (client.inbox.listens.open.length >= Math.min(LISTENS_MAX, world.plan.limits.callsMax / 4)) return
  const uris = op.followed.flatMap((server) => {
    const plan = world.plan.servers[server]
    return plan === undefined ? [] : [`sim://${plan.name}/a`]
  })
  const members = [
    ...(op.hasTools ? ['"toolsListChanged":true'] : []),
    ...(uris.length === 0 ? [] : [`"resourceSubscriptions":${JSON.stringify(uris)}`]),
  ]
  const asking = { ...own, method: 'subscriptions/listen', mustSucceed: false, meta: op }
  client.request(
    asking,
    () => `"notifications":{${members.join(',')}}`,
    (waiting) => {
      const { entry } = waiting
      client.inbox.listens.begin(entry, { uris, hasTools: op.hasTools })
      waiting.next = (ok, text) => {
        const listened = ok ? client.inbox.listens.of(text)?.listen : undefined
        // Whoever says nothing more is told that nothing more comes.
        if (listened !== undefined && client.speaks) client.inbox.listens.ended(listened, text)
      }
    },
  )
}

/** Calls a tool that no server has, though some may have had it once. */
function gone(world: World, client: SimClient, at: number): void {
  const plan = world.plan.servers[at]
  if (plan === undefined) return
  const asking = { ...toServer(world, plan), method: 'tools/call', spelling: 'number', token: false } as const
  client.request(
    { ...asking, mustSucceed: false },
    (nonce) => `"name":"${plan.name}__${GONE}","arguments":{"nonce":"n:${nonce};"}`,
  )
}

function batch(world: World, client: SimClient, op: Extract<Op, { readonly kind: 'batch' }>): void {
  const plan = world.plan.servers[op.server]
  if (plan === undefined || client.plan.revision !== '2025-03-26' || client.plan.manners !== 'proper') return
  const made = op.works.map((work) => {
    const asking = {
      ...toServer(world, plan),
      method: 'tools/call',
      spelling: 'number',
      token: false,
    } as const
    // A batch is answered when its last member is, and all of them are for one server.
    return client.prepare({ ...asking, mustSucceed: false }, (nonce) => callParams(plan, work, nonce))
  })
  // It is answered as a whole, and one of them may wait for what its client is asked.
  if (plan.isStateless === true) for (const { entry } of made) entry.untimed = true
  client.say(
    `[${made.map(({ text }) => text).join(',')}]`,
    made.map(({ entry }) => entry),
  )
}

function read(world: World, client: SimClient, op: ReadOp, meta?: RequestMeta): void {
  const plan = world.plan.servers[op.server]
  if (plan === undefined) return
  const whole = toRead(world, plan, op)
  client.request(meta === undefined ? whole : { ...whole, meta }, readParams(plan, op))
}

interface ReadOp {
  readonly server: number
  readonly method: ReadMethod
  readonly asks?: number
}

function toRead(world: World, plan: ServerPlan, { method }: ReadOp): Asking {
  const asking = { ...toServer(world, plan), method, spelling: 'number', token: false } as const
  return { ...asking, budgetMs: Math.max(asking.budgetMs, allTimeouts(world)), mustSucceed: false }
}

/** What is asked for first says whose question it is. */
function readParams({ name }: ServerPlan, { method, asks }: ReadOp): (nonce: string) => string {
  const ask = (nonce: string): string => `ask/${asks}/n:${nonce};`
  switch (method) {
    case 'resources/read':
      return (nonce) => `"uri":"sim://${name}/${asks === undefined ? 't/x' : ask(nonce)}"`
    case 'prompts/get':
      return (nonce) =>
        `"name":"${name}__hello"${asks === undefined ? '' : `,"arguments":{"ask":"${ask(nonce)}"}`}`
    case 'completion/complete':
      return () => `"ref":{"type":"ref/prompt","name":"${name}__hello"},"argument":{"name":"a","value":""}`
  }
}

/** Reads what is given only to who comes back with answers. */
function statelessRead(
  world: World,
  client: SimClient,
  op: Extract<Op, { readonly kind: 'stateless-read' }>,
): void {
  const plan = world.plan.servers[op.server]
  if (plan === undefined) return
  const { returns = 'answers', afterMs = 0 } = op
  const parts = statelessParts(world, client, plan, { ...op, returns, afterMs })
  new StatelessCall({ ...parts, isSteady: () => false }).begin(toRead(world, plan, op), readParams(plan, op))
}

function statelessParts(
  world: World,
  client: SimClient,
  plan: ServerPlan,
  op: StatelessCallParts['op'],
): Omit<StatelessCallParts, 'isSteady'> {
  // Over HTTP, where nobody is asked who it is, all are one.
  const others = world.clients.filter(
    ({ name, plan: { http } }) =>
      name !== client.name && (http === undefined || client.plan.http === undefined),
  )
  const isRelayed = plan.isStateless === true
  return { client, context: world.host, ledger: world.host.ledger, op, others, isRelayed }
}

/** Asks a server to work, and comes back with answers where it asks. */
function statelessCall(
  world: World,
  client: SimClient,
  op: Extract<Op, { readonly kind: 'stateless-call' }>,
): void {
  const plan = world.plan.servers[op.server]
  if (plan === undefined) return
  const asking = {
    ...toServer(world, plan),
    method: 'tools/call',
    spelling: 'number',
    token: op.work.kind === 'progress',
  } as const
  // Its total time goes on while its client is asked.
  const time: Work = { kind: 'echo', ms: 4 * op.work.ms, n: 1 }
  const isLikely = asking.mustSucceed && plan.total !== undefined && isSure(plan, time) && !isClockSet(world)
  let nonceOfCall = ''
  const mayBeCareful = plan.confirms === true
  const isSteady = (): boolean =>
    isLikely && !world.host.ledger.replaced.has(plan.name) && !(mayBeCareful && isCareful(nonceOfCall))
  new StatelessCall({ ...statelessParts(world, client, plan, op), isSteady }).begin(
    { ...asking, mustSucceed: false },
    (nonce) => callParams(plan, op.work, (nonceOfCall = nonce), mayBeCareful),
    (entry) => mayBeCareful && needsConsent(entry),
  )
}

/** A state is of use for a time by the clock of the machine. */
function isClockSet({ plan }: World): boolean {
  return plan.ops.some(({ kind }) => kind === 'clock')
}

/** A resource that nobody lists is asked for at one server after another. */
function allTimeouts(world: World): number {
  return world.plan.servers.reduce((sum, { timeoutMs }) => sum + timeoutMs, 0)
}

function subscribe(world: World, client: SimClient, op: Extract<Op, { readonly kind: 'subscribe' }>): void {
  const plan = world.plan.servers[op.server]
  if (plan === undefined) return
  const method = op.on ? 'resources/subscribe' : 'resources/unsubscribe'
  const uri = `sim://${plan.name}/a`
  if (op.on) client.inbox.follow(uri)
  else client.unfollowed.add(uri)
  const asking = { ...toServer(world, plan), method, spelling: 'number', token: false } as const
  const budgetMs = Math.max(asking.budgetMs, allTimeouts(world))
  client.request(
    { ...asking, budgetMs, mustSucceed: false },
    () => `"uri":"${uri}"`,
    (waiting) => {
      waiting.next = (ok) => {
        if (ok && op.on) client.followed.add(uri)
      }
    },
  )
}

/** Another request with an id that is in use. */
function twin(client: SimClient): void {
  const waiting = client.inbox.waiting.findLast(
    ({ entry }) => entry.method === 'tools/call' && entry.root === undefined,
  )
  if (waiting !== undefined) client.again(waiting.entry.id)
}

function cancel(client: SimClient, back: number): void {
  // Without a session, a request of an older revision and its cancel come from two clients.
  const isAlone = client.plan.http?.session === false
  const waiting = client.inbox.waiting.filter(
    ({ entry }) => entry.method === 'tools/call' && (!isAlone || entry.root !== undefined),
  )
  const entry = waiting.at(-1 - back)?.entry
  if (entry === undefined || entry.cancelledAt !== undefined) return
  client.cancel(entry)
}
