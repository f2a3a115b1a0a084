// What clients sent and were told, and what servers did, kept by themselves.
//
// Shares no code with the proxy. Every request has a nonce that says whose it is
// and stands in everything that belongs to it: in its arguments, in its answer,
// in its progress, in what a server asks on its behalf.

import type { Check } from './checks.js'
import type { Clock } from './clock.js'
import { clientOf } from './json.js'
import type { Head } from './request-meta.js'
import { type ClientPlan, TOTAL } from './plan.js'

export interface Failure {
  readonly check: Check
  readonly what: string
  readonly at: number
}

/** A call as the server sees it that is at work on it. */
export interface Job {
  /** The server runs, and nobody has asked it to end. */
  stays(): boolean
  cancelled: boolean
  done: boolean
  /** Questions about it that nobody has answered. */
  open: number
}

interface Sent {
  readonly client: string
  readonly nonce: string
  /** As it was written. */
  readonly id: string
  readonly method: string
  /** The server that it is for, where it is for one. */
  readonly service: string | undefined
  /** How long it may take without any sign of life. */
  budgetMs: number
  /** The server does what it is asked, and the answer must be its own. */
  mustSucceed: boolean
}

/** One request of one client, and what became of it. */
export interface Entry extends Sent {
  readonly sentAt: number
  /** Of a request without a session: the first of its call, which may be itself. */
  root?: Entry | undefined
  /** What its head says where it comes over HTTP without a session, and whether it must be refused for that. */
  head: Head
  isMisheaded: boolean
  /** Its client has closed the response. */
  isClosed: boolean
  cancelledAt?: number | undefined
  /** The proxy knew that nobody wants an answer any more. */
  givenUpAt?: number | undefined
  /** Of all that its client is told, what comes behind so many bytes was said after its cancel had been read. */
  silentFrom?: number | undefined
  args?: string | undefined
  /** The nonce in the arguments: that of the first request of a call, also where they come again. */
  about?: string | undefined
  executed: number
  /** Whether its user must agree, has done so, or was asked. */
  consent?: 'needed' | 'asked' | 'given' | undefined
  /** Its server was removed: until then it may wait to know whether another one has its name. */
  namelessUntil: number
  job?: Job | undefined
  /** What the server answered, behind the id. */
  reply?: string | undefined
  readonly answers: { readonly at: number; readonly ok: boolean; readonly text: string }[]
  /** When the proxy had it, and afterwards when its client last heard of it; undefined on its way there. */
  heardAt?: number | undefined
  /**
   * The how manieth it was to be sent, or to get to the proxy where one may overtake another.
   *
   * Infinity where no order is kept; undefined when nobody can tell, since the proxy did not read when it came.
   */
  order?: number | undefined
  progress: number
  /** Its server may have asked about it, so that its time may stand still up to its total. */
  mayStandStill: boolean
  /** What its server has asked about it, without what its own answers and those of other calls have passed on. */
  questions: number
  /** It has got one about another call of its client, which may come again in its next requests. */
  hasLateQuestion: boolean
  /** Since when its client is being asked about it, how many things, and for how long it was before. */
  askedAt?: number | undefined
  asks: number
  askedMs: number
  /** Its client did not read for a while, and cannot tell when the answer came. */
  untimed: boolean
  /** Nobody can blame the proxy: the client has vanished, or was left since it took nothing. */
  excused: boolean
}

/** What was on its way to a server when it was given up has arrived by then. */
const UNDER_WAY_MS = 300

/** By then a server has been told that nobody wants an answer any more. */
const TOLD_MS = 2000

/** By then an answer has gone from one instance to another and to its server. */
const ANSWER_MS = 1500

/** The same, where its client may come again for a minute. */
const RETURN_MS = 62_000

/** How much later than its budget an answer may come: a timer's own lateness, and the way to the client. */
const SLACK_MS = 150

/** How long other instances may take one to run that has ended. */
const UNSETTLED_MS = 15_000

/** In the error of a call whose time is over, and of one whose process was given up for another such call. */
const TIMED_OUT = '"reason":"timeout"'
const RESTARTED = 'is being restarted: a call timed out'

/** Every request, and everything found wrong so far. */
export class Ledger {
  readonly failures: Failure[] = []
  readonly entries: Map<string, Entry> = new Map()
  /** Every client that has come, and those that the proxy has not let go. */
  readonly come: ClientPlan[] = []
  readonly present: Set<ClientPlan> = new Set()
  /** Several instances serve the same clients. */
  isSeveral = false
  /** When an instance has ended, or was without the store. */
  readonly disturbances: number[] = []
  readonly ended: { readonly plan: ClientPlan; readonly session: string; readonly at: number }[] = []
  /** Servers whose place others took while calls waited for them. */
  readonly replaced: Set<string> = new Set()
  /** How often a changed configuration has touched each server. */
  readonly reloads: Map<string, number> = new Map()
  /** Resources that servers were asked to tell of. */
  readonly followed: Set<string> = new Set()
  readonly #clock: Clock
  /** A call of these servers may take so many times its timeout in all. */
  readonly totals: Map<string, number> = new Map()
  /** Servers without sessions: what they ask is asked between two requests. */
  readonly sessionless: Set<string> = new Set()
  isClosing = false
  #severalSince: number | undefined
  readonly #lastExecuted = new Map<string, number>()
  /** Calls whose process ended with them, with what they were told. */
  readonly #lostWithAnother: { readonly entry: Entry; readonly text: string }[] = []

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** An instance has ended, or was without the store for a while, so that what needs another one was refused. */
  get isDisturbed(): boolean {
    return this.disturbances.length > 0
  }

  /** Another instance may be taken to run that has ended, or the other way round. */
  get isUnsettled(): boolean {
    return this.#clock.now - (this.disturbances.at(-1) ?? -Infinity) < UNSETTLED_MS
  }

  get now(): number {
    return this.#clock.now
  }

  get all(): Entry[] {
    return [...this.entries.values()]
  }

  disturbed(): void {
    this.disturbances.push(this.now)
  }

  /** A changed configuration touches a server. */
  reloaded(service: string): void {
    this.replaced.add(service)
    this.reloads.set(service, (this.reloads.get(service) ?? 0) + 1)
  }

  /** Calls of a server that is removed wait for others that start, for as long as a list does and no longer than it is away. */
  serversChanged(added: readonly string[], removed: readonly string[], waitMs: number): void {
    for (const entry of this.entries.values()) {
      if (entry.answers.length > 0) continue
      const { service = '' } = entry
      if (removed.includes(service)) entry.namelessUntil = this.now + waitMs
      if (added.includes(service)) entry.namelessUntil = Math.min(entry.namelessUntil, this.now)
    }
  }

  /** A client has come, which stays until the proxy lets it go. */
  arrives(client: ClientPlan): void {
    this.come.push(client)
    this.present.add(client)
  }

  /** How often the configuration has changed. */
  get reloadsCount(): number {
    return [...this.reloads.values()].reduce((sum, count) => sum + count, 0)
  }

  fail(check: Check, what: string): void {
    if (this.failures.length < 20) this.failures.push({ check, what: what.slice(0, 600), at: this.now })
  }

  sent(request: Sent): Entry {
    const flags = { isMisheaded: false, isClosed: false, untimed: false, excused: false }
    const asked = { mayStandStill: false, questions: 0, hasLateQuestion: false, asks: 0, askedMs: 0 }
    const entry: Entry = {
      ...request,
      ...flags,
      ...asked,
      sentAt: this.now,
      head: 'right',
      executed: 0,
      namelessUntil: -Infinity,
      answers: [],
      order: Number(request.nonce.split('-')[1]),
      progress: -Infinity,
    }
    this.entries.set(entry.nonce, entry)
    return entry
  }

  /** Notes what has become of a request, if there is one with this nonce. */
  note(nonce: string, what: Partial<Pick<Entry, 'mayStandStill' | 'reply' | 'consent' | 'untimed'>>): void {
    Object.assign(this.entries.get(nonce) ?? {}, what)
  }

  /** A server has begun with a call that it must not do twice. */
  executed(nonce: string, instance: string, text: string, job: Job): void {
    const entry = this.#worked(nonce, instance, job)
    if (entry === undefined) return
    entry.executed++
    if (entry.consent !== undefined && entry.consent !== 'given')
      this.fail('unconfirmed', `${instance} was asked for ${nonce}, to which its user did not agree`)
    if (entry.isMisheaded) this.fail('wrong-head', `${instance} was asked for ${nonce}: ${text}`)
    // A cancel may overtake its call where that waits for its session, and another instance learns of it later.
    if (this.#isVain(entry, job) && !this.isSeveral)
      this.fail('begun-in-vain', `${nonce} was given up and then begun by ${instance}`)
    if (entry.args !== undefined && !text.includes(`"arguments":${entry.args}}`))
      this.fail('altered', `${entry.args} got to ${instance} as ${text}`)
    if (entry.executed > 1) this.fail('executed-twice', `${nonce} was executed again, by ${instance}`)
    // Over HTTP every call travels alone, and one may overtake another.
    const service = instance.split('#')[0] ?? ''
    // A call that waits for a server which is then replaced goes to the new one when the old one has ended.
    if (service !== instance && !this.replaced.has(service)) this.#ordered(entry, instance)
  }

  /** A server without sessions goes on with a call that it has begun before. */
  wentOn(nonce: string, instance: string, job: Job): void {
    const entry = this.#worked(nonce, instance, job)
    if (entry !== undefined && this.#isVain(entry, job))
      this.fail('begun-in-vain', `${nonce} was given up and then gone on with by ${instance}`)
  }

  #worked(nonce: string, instance: string, job: Job): Entry | undefined {
    const entry = this.entries.get(nonce)
    if (entry === undefined) this.fail('invented', `${instance} was asked for ${nonce}, which nobody sent`)
    else entry.job = job
    return entry
  }

  #isVain({ givenUpAt }: Entry, job: Job): boolean {
    return givenUpAt !== undefined && job.stays() && this.now - givenUpAt > UNDER_WAY_MS
  }

  /** What belongs to a request may be seen by its own client only. */
  owned(client: string, nonces: readonly string[], text: string): void {
    for (const nonce of nonces)
      if (clientOf(nonce) !== client) this.fail('foreign', `${client} was told of ${nonce}: ${text}`)
  }

  answered(entry: Entry, ok: boolean, text: string): void {
    const { now } = this
    entry.answers.push({ at: now, ok, text })
    if (entry.answers.length > 1) this.fail('answered-twice', `${entry.nonce} was answered again: ${text}`)
    const { executed, reply: first } = entry.root ?? entry
    if (executed > 0 && isAsked(text)) (entry.root ?? entry).questions = 0
    // A server without sessions answers each request of a call.
    const reply = entry.reply ?? first
    if (ok && entry.method === 'tools/call' && executed === 0 && !this.#isAskedFor(entry, text))
      this.fail('made-up', `${entry.nonce} was answered and never executed: ${text}`)
    if (ok && reply !== undefined && isAltered(entry, text, reply))
      this.fail('altered', `${reply} got to ${entry.client} as ${text}`)
    const isTimeout = text.includes(TIMED_OUT)
    if (isTimeout) this.#timedOut(this.#callOf(entry), now, text)
    // Where a client reads nothing, its server is not read either, and the answer may wait there past its time.
    const isUnread = entry.untimed && isTimeout
    const isLost = this.isDisturbed && /"reason":"(?:instance-lost|store-away|shutting-down)"/.test(text)
    if (!ok && entry.mustSucceed && !isUnread && !isLost && !this.#isWithoutMac(entry, text)) {
      if (text.includes(RESTARTED)) this.#lostWithAnother.push({ entry, text })
      else this.fail('needless-error', `${entry.nonce} was refused: ${text}`)
    }
    this.#inTime(entry, now)
  }

  /** Whether a call that its server has not begun may be answered with a question; the proxy itself asks before any server. */
  #isAskedFor(entry: Entry, text: string): boolean {
    if (!isAsked(text)) return false
    return (entry.root?.consent ?? entry.consent) !== undefined || this.#takeLateQuestion(entry)
  }

  /**
   * A server that has not read yet that a call was given up may ask about it, without saying so. Its client has another
   * call at that server by then, which gets the question.
   */
  #takeLateQuestion(entry: Entry): boolean {
    const call = entry.root ?? entry
    if (call.hasLateQuestion) return true
    const late = this.all
      .filter(({ client, service }) => client === call.client && service === call.service)
      .find((other) => other !== call && other.givenUpAt !== undefined && other.questions > 0)
    if (late !== undefined) late.questions--
    call.hasLateQuestion = late !== undefined
    return call.hasLateQuestion
  }

  /** A second client has come to a proxy that was made for one: from now on the states of servers have a MAC. */
  severalCome(): void {
    this.#severalSince ??= this.now
  }

  /** Whether it brings back a state that may be from the time before that: a client may have read it later. */
  #isWithoutMac({ root }: Entry, text: string): boolean {
    const [asked] = root?.answers ?? []
    const since = this.#severalSince ?? -Infinity
    return (
      text.includes('state-unknown') && asked !== undefined && (asked.at <= since || root?.untimed === true)
    )
  }

  progressed(entry: Entry, progress: number, text: string): void {
    if (entry.answers.length > 0)
      this.fail('late-progress', `progress after the answer of ${entry.nonce}: ${text}`)
    if (progress <= entry.progress)
      this.fail('progress-order', `${progress} after ${entry.progress}: ${text}`)
    entry.progress = progress
    entry.heardAt = this.now
  }

  /** A server asks something; where it cannot say about which call, the time of all of the client's stands still. */
  asks(nonce: string): void {
    const asked = this.entries.get(nonce)
    if (asked !== undefined) asked.questions++
    for (const entry of this.entries.values()) {
      const isMeant = entry.client === asked?.client && entry.service === asked.service
      if (isMeant && entry.answers.length === 0) entry.mayStandStill = true
    }
  }

  /** A client has heard a question, and answers it after so long, if it does. */
  asked(nonce: string, answerMs: number | undefined): void {
    const entry = this.entries.get(nonce)
    if (entry === undefined) return
    entry.asks++
    entry.askedAt ??= this.now
    // Where nobody at the server waits, nothing ends it but the time that a client may take.
    if (answerMs === undefined) entry.untimed ||= this.#standsStill(entry)
    else this.#clock.after(answerMs, () => this.#heardOf(entry))
  }

  /** A client answers what a server has asked about this call: whichever instance gets the answer, the server does too. */
  answersTo(nonce: string): void {
    this.#clock.after(ANSWER_MS, () => {
      const { job, excused } = this.entries.get(nonce) ?? {}
      if (job?.open !== 0 && isAtWork(job) && excused !== true && !this.isDisturbed)
        this.fail('answer-lost', `the server still waits for an answer about ${nonce}`)
    })
  }

  asksConsent(nonce: string, client: string): void {
    const entry = this.entries.get(nonce)
    if (entry?.consent !== 'needed') this.fail('asked-in-vain', `${client} is asked to agree to ${nonce}`)
    else entry.consent = 'asked'
  }

  /** Whether no time of the call passes while its client is asked, nor that of all of it. */
  #standsStill({ service = '', consent }: Entry): boolean {
    return this.sessionless.has(service) || consent !== undefined
  }

  /** A client has ended its input, so nothing that it is asked gets an answer any more. */
  endedInput(client: string): void {
    for (const entry of this.entries.values())
      if (entry.client === client && entry.asks > 0) {
        entry.asks = 1
        this.#heardOf(entry)
      }
  }

  /** Its client has answered one of the questions about it. */
  #heardOf(entry: Entry): void {
    if (entry.asks === 0 || --entry.asks > 0) return
    entry.askedMs = askedMs(entry, this.now)
    entry.askedAt = undefined
  }

  /** The proxy has given up a call, or knows that its client has: so must the server that is at it. */
  givenUp(entry: Entry): void {
    const call = this.#callOf(entry)
    const { job } = call
    if (job?.done === true) return
    // Who closes the response to a request with answers may have lost it, and come again.
    if (entry.isClosed && call !== entry)
      return void this.#clock.after(RETURN_MS, () => {
        if ((call.job?.open ?? 0) === 0 && !this.#waitsFor(call, entry)) this.#told(call, entry)
      })
    call.givenUpAt = this.now
    // It waits for its client, or for another request of it.
    if (entry.root !== undefined && ((job?.open ?? 0) > 0 || this.#waitsFor(call, entry))) return
    this.#clock.after(TOLD_MS, () => this.#told(call, entry))
  }

  #told({ job }: Entry, { nonce }: Entry): void {
    if (isAtWork(job) && !this.isUnsettled)
      this.fail('not-cancelled', `nobody told the server that ${nonce} was given up`)
  }

  /** Nobody has come back for a long time: what a server is at for such a call is given up. */
  parkedLeft(): void {
    for (const { root, job, nonce } of this.entries.values())
      if (root?.nonce === nonce && isAtWork(job))
        this.fail('left-parked', `the server is still at ${nonce}, and nobody comes back`)
  }

  #waitsFor(root: Entry, but: Entry): boolean {
    const others = this.all.filter((entry) => entry.root === root && entry !== but)
    return others.some(({ answers, excused, isClosed }) => answers.length === 0 && !excused && !isClosed)
  }

  /** Everything has come to rest: what has no answer now will never have one. */
  close(): void {
    for (const { entry, text } of this.#lostWithAnother)
      if (!this.#mayHaveTimedOut(entry)) this.fail('needless-error', `${entry.nonce} was refused: ${text}`)
    for (const entry of this.entries.values()) {
      if (entry.answers.length > 0 || entry.excused || entry.cancelledAt !== undefined) continue
      this.fail('lost', `${entry.nonce} (${entry.method}, id ${entry.id}) was never answered`)
    }
  }

  /** Whether another call to its server has timed out, or has no answer that would say so. */
  #mayHaveTimedOut({ service, nonce }: Entry): boolean {
    const others = this.all.filter((entry) => entry.service === service && entry.nonce !== nonce)
    return others.some(
      ({ answers }) => answers.length === 0 || answers.some(({ text }) => text.includes(TIMED_OUT)),
    )
  }

  /** The calls of one client get to one process in the order in which they were sent, or came. */
  #ordered({ client, nonce, order, consent }: Entry, instance: string): void {
    // Calls behind one that waits for its user overtake it.
    if (order === undefined || consent !== undefined) return
    const key = `${client} ${instance}`
    if (order < (this.#lastExecuted.get(key) ?? -1))
      this.fail('call-order', `${instance} had ${nonce} after a later call`)
    this.#lastExecuted.set(key, order)
  }

  /** The error of a deadline says whose it was and how long, and does not come before it. */
  #timedOut(entry: Entry, now: number, text: string): void {
    const [, budget, ms] = /"budget":"(\w+)","ms":(\d+)/.exec(text) ?? []
    const isOwn = /"(?:tool|prompt)":/.test(text)
    const isNamed = entry.method !== 'tools/call' || text.includes(`"service":"${entry.service ?? ''}"`)
    // A call to which its user must agree is one call with the request that brings the consent.
    const whole = entry.root?.consent === undefined ? entry : entry.root
    const since = budget === 'timeout' ? whole.sentAt + askedMs(whole, now) : whole.sentAt
    const isEarly = isOwn && now - since < Number(ms) - 1
    if (budget === undefined || !isNamed || isEarly)
      this.fail('bad-timeout', `${entry.nonce} after ${Math.round(now - entry.sentAt)} ms: ${text}`)
    if (isOwn) this.givenUp(entry)
  }

  /** What a server is at: it has the whole call, or without sessions this request of it. */
  #callOf(entry: Entry): Entry {
    return this.sessionless.has(entry.service ?? '') ? entry : (entry.root ?? entry)
  }

  #inTime(entry: Entry, now: number): void {
    const late = Math.round(now - (entry.heardAt ?? now))
    const total = this.totals.get(entry.service ?? '') ?? TOTAL
    const heldMs = this.#standsStill(entry) ? askedMs(entry, now) : 0
    const budgetMs = (entry.mayStandStill ? total * entry.budgetMs : entry.budgetMs) + heldMs
    // A call whose client left before it was asked ends with the session.
    const isUnasked = entry.consent === 'needed'
    const isInTime = late <= budgetMs + SLACK_MS || now <= entry.namelessUntil + SLACK_MS
    if (entry.excused || entry.untimed || isUnasked || isInTime) return
    this.fail('late', `${entry.nonce} was answered after ${late} ms, not ${budgetMs}`)
  }
}

/** The server is at it, and knows of nobody who has given it up. */
function isAtWork(job: Job | undefined): boolean {
  return job !== undefined && !job.done && !job.cancelled && job.stays()
}

/** Whether a result is not what its server has answered. */
function isAltered(entry: Entry, text: string, reply: string): boolean {
  if (!isAsked(reply)) return !isAsked(text) && !plain(entry, text).endsWith(`,${reply}}`)
  // Its client was asked, and has given no answer that could be passed on.
  if (entry.root === undefined) return !text.includes('"isError":true')
  return !stateless(text).endsWith(`,${stateless(reply)}}`)
}

/** The state is not the server's own for anybody but the server. */
function stateless(text: string): string {
  return text.replace(/,?"requestState":"(?:[^"\\]|\\.)*"/, '')
}

/** How long the client of a call has been asked about it so far. */
function askedMs({ askedAt, askedMs: before }: Entry, now: number): number {
  return before + now - (askedAt ?? now)
}

/** Its client is asked something, and may come back. */
function isAsked(text: string): boolean {
  return text.includes('"resultType":"input_required"')
}

/** As the server has written it: who has no session is told of the type of each result besides. */
function plain({ root }: Entry, text: string): string {
  return root === undefined ? text : text.replace('{"resultType":"complete",', '{')
}
