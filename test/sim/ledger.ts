// A record of what clients sent and received, and of what servers did. The ledger shares no code with the proxy.
// Every request has a nonce that names its client. The nonce is part of everything that belongs to the request: its
// arguments, its answer, its progress, and the questions of its server.

import type { Check } from './checks.js'
import type { Clock } from './clock.js'
import { clientOf } from './json.js'
import type { Head } from './request-meta.js'
import { type ClientPlan, TOTAL } from './plan.js'

export type Failure = { readonly check: Check; readonly what: string; readonly at: number }

export interface Job {
  /** The server runs, and it has not been asked to end. */
  stays(): boolean
  cancelled: boolean
  done: boolean
  /** Unanswered questions of the server about this call. */
  open: number
}

interface Sent {
  readonly client: string
  readonly nonce: string
  /** Raw JSON. */
  readonly id: string
  readonly method: string
  readonly service: string | undefined
  /** The longest time without a sign of life, in milliseconds. */
  budgetMs: number
  /** The server can answer, so the proxy must not answer with an error. */
  mustSucceed: boolean
}

export interface Entry extends Sent {
  readonly sentAt: number
  /** The first request of the call, for a request without a session. It may be the request itself. */
  root?: Entry | undefined
  /** The HTTP header fields of a request without a session. `isMisheaded` requests must be refused. */
  head: Head
  isMisheaded: boolean
  isClosed: boolean
  cancelledAt?: number | undefined
  /** When the proxy knew that the client had given up the request. */
  givenUpAt?: number | undefined
  /** The position in the bytes to the client at which its cancel had been read. No answer may follow. */
  silentFrom?: number | undefined
  args?: string | undefined
  /** The nonce in the arguments, which is that of the first request of the call. */
  about?: string | undefined
  executed: number
  consent?: 'needed' | 'asked' | 'given' | undefined
  /** When the server has been removed, a call may wait until this time for another server with its name. */
  namelessUntil: number
  job?: Job | undefined
  /** The answer of the server without its envelope and id. */
  reply?: string | undefined
  readonly answers: { readonly at: number; readonly ok: boolean; readonly text: string }[]
  /** When the proxy received the request, and later when the client last received something about it. */
  heardAt?: number | undefined
  /**
   * The position in the order of sending, or of arrival where requests may overtake each other.
   *
   * Infinity where no order is kept. Undefined when the order is unknown, because the proxy was not reading.
   */
  order?: number | undefined
  progress: number
  /** The server may have asked about the call, so its timeout may pause, up to the total timeout. */
  mayStandStill: boolean
  /** Questions of the server about the call, less those that its own answers or other calls have passed on. */
  questions: number
  /** The call received a question about another call of its client, which may come again in later requests. */
  hasLateQuestion: boolean
  /** Since when the client is being asked, the number of open questions, and the time of earlier questions. */
  askedAt?: number | undefined
  asks: number
  askedMs: number
  /** The client was paused, so the time of the answer is unknown. */
  untimed: boolean
  /** The proxy need not answer: the client has vanished, or was dropped because it did not read. */
  excused: boolean
}

/** A call that was on its way to its server when it was given up arrives within this time. */
const UNDER_WAY_MS = 300

/** A server receives the cancel within this time. */
const TOLD_MS = 2000

/** An answer gets from one instance through another to its server within this time. */
const ANSWER_MS = 1500

/** The same for a cancel whose client may come back for a minute. */
const RETURN_MS = 62_000

/** How much later than its budget an answer may come: the lateness of timers, and the way to the client. */
const SLACK_MS = 150

/** How long other instances may believe that an ended instance runs. */
const UNSETTLED_MS = 15_000

/** In the error of a call that timed out, and of one whose process was restarted because of another call. */
const TIMED_OUT = '"reason":"timeout"'
const RESTARTED = 'is being restarted: a call timed out'

export class Ledger {
  readonly failures: Failure[] = []
  readonly entries: Map<string, Entry> = new Map()
  /** All clients that came, and those that the proxy still serves. */
  readonly come: ClientPlan[] = []
  readonly present: Set<ClientPlan> = new Set()
  isSeveral = false
  /** When an instance ended or lost the store. */
  readonly disturbances: number[] = []
  readonly ended: { readonly plan: ClientPlan; readonly session: string; readonly at: number }[] = []
  readonly replaced: Set<string> = new Set()
  readonly reloads: Map<string, number> = new Map()
  readonly followed: Set<string> = new Set()
  readonly #clock: Clock
  /** The total time of a call to each server, as a multiple of its timeout. */
  readonly totals: Map<string, number> = new Map()
  readonly sessionless: Set<string> = new Set()
  isClosing = false
  #severalSince: number | undefined
  readonly #lastExecuted = new Map<string, number>()
  /** Refused calls whose process was restarted, perhaps because another call timed out. */
  readonly #lostWithAnother: { readonly entry: Entry; readonly text: string }[] = []

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** An instance has ended or lost the store, so requests that need another instance may be refused. */
  get isDisturbed(): boolean {
    return this.disturbances.length > 0
  }

  /** Instances may disagree on which of them run. */
  get isUnsettled(): boolean {
    return this.#clock.now - (this.disturbances.at(-1) ?? -Infinity) < UNSETTLED_MS
  }

  get now(): number {
    return this.#clock.now
  }

  get all(): Entry[] {
    return [...this.entries.values()]
  }

  reloaded(service: string): void {
    this.replaced.add(service)
    this.reloads.set(service, (this.reloads.get(service) ?? 0) + 1)
  }

  /** Calls of a removed server wait for starting servers as long as a list does, or until the server is back. */
  serversChanged(added: readonly string[], removed: readonly string[], waitMs: number): void {
    for (const entry of this.entries.values()) {
      if (entry.answers.length > 0) continue
      const { service = '' } = entry
      if (removed.includes(service)) entry.namelessUntil = this.now + waitMs
      if (added.includes(service)) entry.namelessUntil = Math.min(entry.namelessUntil, this.now)
    }
  }

  arrives(client: ClientPlan): void {
    this.come.push(client)
    this.present.add(client)
  }

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

  note(nonce: string, what: Partial<Pick<Entry, 'mayStandStill' | 'reply' | 'consent' | 'untimed'>>): void {
    Object.assign(this.entries.get(nonce) ?? {}, what)
  }

  /** A server began a call, which it must not begin twice. */
  executed(nonce: string, instance: string, text: string, job: Job): void {
    const entry = this.#worked(nonce, instance, job)
    if (entry === undefined) return
    entry.executed++
    if (entry.consent !== undefined && entry.consent !== 'given')
      this.fail('unconfirmed', `${instance} was asked for ${nonce}, to which its user did not agree`)
    if (entry.isMisheaded) this.fail('wrong-head', `${instance} was asked for ${nonce}: ${text}`)
    // A cancel may overtake a call that waits for its session. With several instances, the other one learns of the
    // cancel later.
    if (this.#isVain(entry, job) && !this.isSeveral)
      this.fail('begun-in-vain', `${nonce} was given up and then begun by ${instance}`)
    if (entry.args !== undefined && !text.includes(`"arguments":${entry.args}}`))
      this.fail('altered', `${entry.args} got to ${instance} as ${text}`)
    if (entry.executed > 1) this.fail('executed-twice', `${nonce} was executed again, by ${instance}`)
    // Over HTTP calls may overtake each other.
    const service = instance.split('#')[0] ?? ''
    // A call that waits for a replaced server goes to the new one when the old one has ended.
    if (service !== instance && !this.replaced.has(service)) this.#ordered(entry, instance)
  }

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

  /** Only its own client may receive what belongs to a request. */
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
    // A call that no server has begun may be answered with a question, as for consent.
    const hasConsent = (entry.root?.consent ?? entry.consent) !== undefined
    if (ok && entry.method === 'tools/call' && executed === 0)
      if (!isAsked(text) || !(hasConsent || this.#takeLateQuestion(entry)))
        this.fail('made-up', `${entry.nonce} was answered and never executed: ${text}`)
    if (ok && reply !== undefined && isAltered(entry, text, reply))
      this.fail('altered', `${reply} got to ${entry.client} as ${text}`)
    const isTimeout = text.includes(TIMED_OUT)
    if (isTimeout) this.#timedOut(this.#callOf(entry), now, text)
    // While a client does not read, its server is not read either, so the answer may wait there until the timeout.
    const isUnread = entry.untimed && isTimeout
    const isLost = this.isDisturbed && /"reason":"(?:instance-lost|store-away|shutting-down)"/.test(text)
    if (!ok && entry.mustSucceed && !isUnread && !isLost && !this.#isWithoutMac(entry, text)) {
      if (text.includes(RESTARTED)) this.#lostWithAnother.push({ entry, text })
      else this.fail('needless-error', `${entry.nonce} was refused: ${text}`)
    }
    this.#inTime(entry, now)
  }

  /**
   * A server that has not yet read a cancel may ask about that call. Another call of the client at that server then
   * gets the question, since the question does not name its call.
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

  /** A second client came to a proxy that was made for one. From now on request states carry a MAC. */
  severalCome(): void {
    this.#severalSince ??= this.now
  }

  /** Whether the request brings back a state without a MAC. The client may have read that state later. */
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

  /** A server asks about a call that it cannot name, so all timeouts of the client at that server pause. */
  asks(nonce: string): void {
    const asked = this.entries.get(nonce)
    if (asked !== undefined) asked.questions++
    for (const entry of this.entries.values()) {
      const isMeant = entry.client === asked?.client && entry.service === asked.service
      if (isMeant && entry.answers.length === 0) entry.mayStandStill = true
    }
  }

  /** Undefined is never. */
  asked(nonce: string, answerMs: number | undefined): void {
    const entry = this.entries.get(nonce)
    if (entry === undefined) return
    entry.asks++
    entry.askedAt ??= this.now
    // No process waits there, so only the client's own time limit ends the call.
    if (answerMs === undefined) entry.untimed ||= this.#standsStill(entry)
    else this.#clock.after(answerMs, () => this.#heardOf(entry))
  }

  /** The answer of a client must reach the server, whichever instance receives it. */
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

  /** Whether both the timeout and the total timeout of the call pause while its client is asked. */
  #standsStill({ service = '', consent }: Entry): boolean {
    return this.sessionless.has(service) || consent !== undefined
  }

  /** A client that has ended its input answers no more questions. */
  endedInput(client: string): void {
    for (const entry of this.entries.values())
      if (entry.client === client && entry.asks > 0) {
        entry.asks = 1
        this.#heardOf(entry)
      }
  }

  #heardOf(entry: Entry): void {
    if (entry.asks === 0 || --entry.asks > 0) return
    entry.askedMs = askedMs(entry, this.now)
    entry.askedAt = undefined
  }

  /** The proxy knows that the call was given up, so the server must be notified. */
  givenUp(entry: Entry): void {
    const call = this.#callOf(entry)
    const { job } = call
    if (job?.done === true) return
    // A client may have lost the response that it closed, and may come back with answers.
    if (entry.isClosed && call !== entry)
      return void this.#clock.after(RETURN_MS, () => {
        if ((call.job?.open ?? 0) === 0 && !this.#waitsFor(call, entry)) this.#told(call, entry)
      })
    call.givenUpAt = this.now
    // The call waits for its client, or for another request of it.
    if (entry.root !== undefined && ((job?.open ?? 0) > 0 || this.#waitsFor(call, entry))) return
    this.#clock.after(TOLD_MS, () => this.#told(call, entry))
  }

  #told({ job }: Entry, { nonce }: Entry): void {
    if (isAtWork(job) && !this.isUnsettled)
      this.fail('not-cancelled', `nobody told the server that ${nonce} was given up`)
  }

  /** No client comes back to a parked call any more, so the server must have been notified. */
  parkedLeft(): void {
    for (const { root, job, nonce } of this.entries.values())
      if (root?.nonce === nonce && isAtWork(job))
        this.fail('left-parked', `the server is still at ${nonce}, and nobody comes back`)
  }

  #waitsFor(root: Entry, but: Entry): boolean {
    const others = this.all.filter((entry) => entry.root === root && entry !== but)
    return others.some(({ answers, excused, isClosed }) => answers.length === 0 && !excused && !isClosed)
  }

  /** No more answers come after this. */
  close(): void {
    for (const { entry, text } of this.#lostWithAnother)
      if (!this.#mayHaveTimedOut(entry)) this.fail('needless-error', `${entry.nonce} was refused: ${text}`)
    for (const entry of this.entries.values()) {
      if (entry.answers.length > 0 || entry.excused || entry.cancelledAt !== undefined) continue
      this.fail('lost', `${entry.nonce} (${entry.method}, id ${entry.id}) was never answered`)
    }
  }

  /** Whether another call to its server has timed out, or has no answer that would tell. */
  #mayHaveTimedOut({ service, nonce }: Entry): boolean {
    const others = this.all.filter((entry) => entry.service === service && entry.nonce !== nonce)
    return others.some(
      ({ answers }) => answers.length === 0 || answers.some(({ text }) => text.includes(TIMED_OUT)),
    )
  }

  /** One process must receive the calls of one client in order. */
  #ordered({ client, nonce, order, consent }: Entry, instance: string): void {
    // Calls may overtake one that waits for consent.
    if (order === undefined || consent !== undefined) return
    const key = `${client} ${instance}`
    if (order < (this.#lastExecuted.get(key) ?? -1))
      this.fail('call-order', `${instance} had ${nonce} after a later call`)
    this.#lastExecuted.set(key, order)
  }

  /** A timeout error must name the budget and its length, and must not come early. */
  #timedOut(entry: Entry, now: number, text: string): void {
    const [, budget, ms] = /"budget":"(\w+)","ms":(\d+)/.exec(text) ?? []
    const isOwn = /"(?:tool|prompt)":/.test(text)
    const isNamed = entry.method !== 'tools/call' || text.includes(`"service":"${entry.service ?? ''}"`)
    // A call that needs consent begins with its first request, not with the one that brings the consent.
    const whole = entry.root?.consent === undefined ? entry : entry.root
    const since = budget === 'timeout' ? whole.sentAt + askedMs(whole, now) : whole.sentAt
    const isEarly = isOwn && now - since < Number(ms) - 1
    if (budget === undefined || !isNamed || isEarly)
      this.fail('bad-timeout', `${entry.nonce} after ${Math.round(now - entry.sentAt)} ms: ${text}`)
    if (isOwn) this.givenUp(entry)
  }

  /** The entry that the job belongs to: the whole call, or a single request at a server without sessions. */
  #callOf(entry: Entry): Entry {
    return this.sessionless.has(entry.service ?? '') ? entry : (entry.root ?? entry)
  }

  #inTime(entry: Entry, now: number): void {
    const late = Math.round(now - (entry.heardAt ?? now))
    const total = this.totals.get(entry.service ?? '') ?? TOTAL
    const heldMs = this.#standsStill(entry) ? askedMs(entry, now) : 0
    const budgetMs = (entry.mayStandStill ? total * entry.budgetMs : entry.budgetMs) + heldMs
    // A call whose client left before the question for consent ends with the session.
    const isUnasked = entry.consent === 'needed'
    const isInTime = late <= budgetMs + SLACK_MS || now <= entry.namelessUntil + SLACK_MS
    if (entry.excused || entry.untimed || isUnasked || isInTime) return
    this.fail('late', `${entry.nonce} was answered after ${late} ms, not ${budgetMs}`)
  }
}

/** The server works on the call and has not been notified that it was given up. */
function isAtWork(job: Job | undefined): boolean {
  return job !== undefined && !job.done && !job.cancelled && job.stays()
}

function isAltered(entry: Entry, text: string, reply: string): boolean {
  // The proxy adds `resultType` for clients without a session.
  const plain = entry.root === undefined ? text : text.replace('{"resultType":"complete",', '{')
  if (!isAsked(reply)) return !isAsked(text) && !plain.endsWith(`,${reply}}`)
  // The client was asked and did not give a usable answer.
  if (entry.root === undefined) return !text.includes('"isError":true')
  return !stateless(text).endsWith(`,${stateless(reply)}}`)
}

/** The proxy replaces the state of the server by its own. */
const stateless = (text: string): string => text.replace(/,?"requestState":"(?:[^"\\]|\\.)*"/, '')

function askedMs({ askedAt, askedMs: before }: Entry, now: number): number {
  return before + now - (askedAt ?? now)
}

const isAsked = (text: string): boolean => text.includes('"resultType":"input_required"')
