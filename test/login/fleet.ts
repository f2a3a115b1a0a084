// Many processes of one user with one login, whose tokens expire all the time and which are killed at random.

import { at, textAt } from '../integration/support/json.js'
import { cli } from '../integration/support/programs.js'
import { type Scope, Spawned, configFile, scratch } from '../integration/support/spawned.js'
import { AuthorizationServer } from './authorization-server.js'
import { TestBrowser } from './place.js'

export interface FleetPlan {
  readonly processes: number
  readonly expiries: number
  /** How many processes are killed in all, while they call. */
  readonly kills: number
  readonly seed: number
  readonly msMax: number
}

/** Runs until every expiry has happened, or the time is over. */
export async function runFleet(t: Scope, plan: FleetPlan) {
  const fleet = new Fleet(t, await AuthorizationServer.open(t), plan)
  await fleet.start()
  const endsAt = performance.now() + plan.msMax
  let round = 0
  while (round < plan.expiries && performance.now() < endsAt) await fleet.expire(round++)
  return fleet.end(round)
}

/** Processes that call together after every fourth expiry; one calls after each other one. */
const CALLERS = 4

class Fleet {
  readonly #server: AuthorizationServer
  readonly #plan: FleetPlan
  readonly #config: string
  readonly #browser: TestBrowser
  readonly #env: Readonly<Record<string, string | undefined>>
  readonly #members: Spawned[] = []
  readonly #failures: string[] = []
  #stderr = ''
  #seed: number
  #killed = 0
  #killedBefore = 0
  #killedAtRefresh = 0
  #victim: Spawned | undefined

  constructor(t: Scope, server: AuthorizationServer, plan: FleetPlan) {
    this.#server = server
    this.#plan = plan
    this.#seed = plan.seed
    const home = scratch(t)
    this.#browser = new TestBrowser(home)
    this.#config = configFile(t, { guarded: { url: server.url } })
    this.#env = { ...process.env, HOME: home, BROWSER: this.#browser.path }
    server.options = {
      isLost: () => this.#killed > this.#killedAtRefresh,
      onRefresh: () => this.#onRefresh(),
    }
    t.after(() => {
      for (const member of this.#members) member.kill()
    })
  }

  async start(): Promise<void> {
    const { processes } = this.#plan
    await Promise.all(Array.from({ length: processes }, (_, index) => this.#begin(index)))
    await Promise.all(this.#members.map((member) => this.#call(member)))
  }

  async expire(round: number): Promise<void> {
    const { expiries, kills, processes } = this.#plan
    const first = Math.floor(this.#random() * processes)
    const callers = Array.from(
      { length: round % 4 === 0 ? CALLERS : 1 },
      (_, index) => (first + index) % processes,
    )
    const isKill = Math.floor((round * kills) / expiries) < Math.floor(((round + 1) * kills) / expiries)
    this.#killedBefore = this.#killed
    this.#victim = isKill ? this.#members[callers[0] ?? 0] : undefined
    const victim = this.#victim
    this.#server.expireAccess()
    const calls = callers.map(async (index) => {
      const member = this.#members[index]
      if (member !== undefined) await this.#call(member)
    })
    if (victim !== undefined) this.#kill(victim, this.#random() * 60)
    await Promise.all(calls)
    if (victim === undefined) return
    await victim.exited
    // No token expires while the next one starts: two expiries during one request are a refusal.
    await this.#call(await this.#begin(this.#members.indexOf(victim)))
  }

  /** `reuses` are refresh tokens that came twice though their process had the answer, `lost` those of killed ones. */
  end(expiries: number) {
    const { refreshes, reuses, lost } = this.#server
    this.#stderr += this.#members.map(({ stderr }) => stderr).join('')
    const [killed, failures, stderr] = [this.#killed, this.#failures, this.#stderr]
    return { expiries, tabs: this.#browser.tabs.length, refreshes, reuses, lost, killed, failures, stderr }
  }

  async #begin(index: number): Promise<Spawned> {
    const args = [cli, 'stdio', '--config', this.#config, '--verbose']
    const member = new Spawned(process.execPath, args, { env: this.#env })
    this.#members[index] = member
    await member.client.open()
    return member
  }

  /** Until the first login is made, a call says that it is needed. */
  async #call(member: Spawned): Promise<void> {
    for (;;) {
      const heard = await member.client.call('guarded__hello').catch(() => undefined)
      // It was killed.
      if (heard === undefined) return
      if (textAt(heard.value, 'result', 'content', 0, 'text') === 'hi') return
      const why = textAt(heard.value, 'error', 'message')
      if (at(heard.value, 'error', 'data', 'reason') !== 'login-required' || this.#server.refreshes > 0) {
        this.#failures.push(why)
        return
      }
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }

  /** Half of the kills fall into the refresh itself. */
  async #onRefresh(): Promise<void> {
    // A process that is killed in this round may have asked already.
    this.#killedAtRefresh = this.#killedBefore
    if (this.#victim === undefined || this.#random() < 0.5) return
    this.#kill(this.#victim, this.#random() * 5)
    await new Promise((resolve) => setTimeout(resolve, this.#random() * 5))
  }

  #kill(victim: Spawned, delayMs: number): void {
    setTimeout(() => {
      if (victim.child.killed) return
      this.#stderr = (this.#stderr + victim.stderr).slice(-1_000_000)
      victim.kill()
      this.#killed++
    }, delayMs)
  }

  #random(): number {
    this.#seed = (this.#seed * 1_103_515_245 + 12_345) % 2_147_483_648
    return this.#seed / 2_147_483_648
  }
}
