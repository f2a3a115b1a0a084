// One run: a proxy, its clients and its servers.

import { createProxy } from '../../src/proxy/proxy.js'
import type { McpProxy } from '../../src/proxy/proxy-interface.js'
import { AuditWatch, CountedCalls } from './recorded-calls.js'
import type { Check } from './checks.js'
import { type ClientWire, SimClient } from './client.js'
import type { ClientInbox } from './client-inbox.js'
import {
  EVERYBODY,
  LIST_MS,
  configurationOf,
  frontLimitsOf,
  limitsOf,
  readConfiguration,
} from './configuration.js'
import { runEarlier } from './earlier-run.js'
import { Host } from './host.js'
import { Instances } from './instances.js'
import { MixedWire } from './stateless-posts.js'
import { HttpWire } from './http-wire.js'
import { SseWire } from './sse-wire.js'
import { plainClient } from './plain-plan.js'
import { type ClientPlan, type LimitsPlan, type Plan, type ReloadKind, START_MS } from './plan.js'
import { StdioWire } from './stdio-wire.js'
import { Turns } from './turns.js'
import { type Wrong, changed } from './wrong.js'

/** A run with more steps of the clock is endless. */
const STEPS_MAX = 2_000_000

export class World {
  readonly plan: Plan
  readonly host: Host
  readonly clients: SimClient[] = []
  /** The current client for each client of the plan. */
  readonly seats: (SimClient | undefined)[] = []
  readonly counted: CountedCalls = new CountedCalls()
  readonly audit: AuditWatch
  readonly #turns: Turns
  readonly #changes = new Map<string, ReloadKind>()
  readonly thrown: (error: unknown) => void
  instances: Instances | undefined
  #proxy: McpProxy | undefined
  #steps = 0

  constructor(plan: Plan, wrong: Wrong = {}) {
    this.plan = plan
    this.host = new Host(plan, wrong)
    this.audit = new AuditWatch(() => this.host.runtime.wallNow(), wrong)
    this.#turns = new Turns((what) => this.host.ledger.fail('real-time', `${what} was used`))
    this.thrown = (error) => this.#fault('thrown', error)
  }

  /** All real timers are replaced while `play` runs. */
  run(play: () => void): void {
    this.#turns.install(() => this.host.clock.now)
    process.on('uncaughtException', this.thrown)
    process.on('unhandledRejection', this.thrown)
    try {
      this.#open()
      play()
    } catch (error) {
      this.#fault('thrown', error)
    } finally {
      process.off('uncaughtException', this.thrown)
      process.off('unhandledRejection', this.thrown)
      this.#turns.uninstall()
    }
  }

  get proxy(): McpProxy {
    const proxy = this.#proxy ?? this.instances?.proxy
    if (proxy === undefined) throw new Error('the proxy did not come up')
    return proxy
  }

  close(): Promise<void> {
    return this.instances?.close() ?? this.proxy.close()
  }

  /** Each client of the plan that attaches again becomes a new client with a new name. */
  attach(plan: ClientPlan): SimClient {
    const { host } = this
    const manners = plan.http?.session === false ? 'session' : plan.manners
    const named = { ...plan, manners, name: `c${this.clients.length}` }
    const client = new SimClient(host, named, host.servers, (inbox) => this.#wireOf(named, inbox))
    this.clients.push(client)
    host.ledger.come.push(named)
    if (client.wire instanceof StdioWire) {
      if (this.plan.ownStart === 'with-client' && this.clients.length > 1) host.ledger.severalCome()
      this.#seat(named, client.wire)
    }
    this.settle()
    client.shakeHands()
    return client
  }

  reload(name: string, how: ReloadKind): void {
    this.#changes.set(name, how)
    const changed = readConfiguration(configurationOf(this.plan, this.#changes))
    this.proxy.reload(changed).catch(this.thrown)
  }

  pass(ms: number): void {
    this.until(() => false, ms)
  }

  /** Lets time pass until `isSo`. False when that takes longer than `withinMs`. */
  until(isSo: () => boolean, withinMs: number): boolean {
    const { clock } = this.host
    const end = clock.now + withinMs
    this.settle()
    while (!isSo()) {
      if (!clock.step(end)) return isSo()
      this.settle()
      if (++this.#steps > STEPS_MAX) throw new Error('the run does not end')
    }
    return true
  }

  settle(): void {
    try {
      this.#turns.settle()
    } catch (error) {
      this.#fault('thrown', error)
    }
  }

  get #limits(): LimitsPlan {
    return this.host.wrong.limits?.(this.plan.limits) ?? this.plan.limits
  }

  #open(): void {
    const { plan, host } = this
    const { runtime, log } = host
    if (plan.front !== undefined) this.#welcome()
    if (plan.instances !== undefined) {
      this.instances = new Instances(this, plan.instances)
      return void this.until(() => this.instances?.isUp === true, START_MS)
    }
    const { ownStart = 'with-call' } = plan
    const keep = plan.kept !== undefined
    const on = { call: this.audit.ended }
    const options = { runtime, log, on, ownStart, keep, limits: limitsOf(this.#limits) }
    if (plan.kept !== undefined) runEarlier(host, plan, plan.kept)
    this.settle()
    createProxy(readConfiguration(configurationOf(plan)), options).then((right) => {
      const proxy = changed(right, host.wrong.proxy?.(right))
      this.#proxy = proxy
      this.counted.listen(proxy)
      proxy.on('reload', ({ added, removed }) => host.ledger.serversChanged(added, removed, LIST_MS))
      if (plan.front !== undefined)
        host.front.serve(proxy, frontLimitsOf(plan.front, this.#limits)).catch(this.thrown)
    }, this.thrown)
    this.settle()
  }

  /** All requests over HTTP without a session belong to one client, which outlives its connections. */
  #welcome(): void {
    const sets = this.plan.clients.flatMap(({ http, sets: own }) => (http === undefined ? [] : (own ?? [])))
    if (sets.length === 0) return
    this.host.ledger.arrives(plainClient(EVERYBODY, { sets }))
  }

  #wireOf(plan: ClientPlan, inbox: ClientInbox): ClientWire {
    const { host } = this
    const { http } = plan
    if (http === undefined) {
      const { ndjson } = limitsOf(this.#limits).session
      return new StdioWire(host, plan, inbox, { ndjson, timers: host.runtime })
    }
    const parts = { context: host, front: host.front, plan, http, inbox }
    const old = http.sse ? new SseWire(parts) : new HttpWire(parts)
    return plan.sets === undefined ? old : new MixedWire(parts, old)
  }

  #seat(plan: ClientPlan, { connection }: StdioWire): void {
    const { present } = this.host.ledger
    present.add(plan)
    void this.proxy.attach(connection).then(({ ended }) => {
      void ended.then(() => present.delete(plan))
    })
  }

  #fault(check: Check, error: unknown): void {
    this.host.ledger.fail(check, error instanceof Error ? (error.stack ?? error.message) : String(error))
  }
}
