// A call of a client without a session, from its first request to the last that comes back to it.

import type { Asking, SimClient, Waiting } from './client.js'
import type { SimContext } from './byte-flow.js'
import { type Askable, type Returns, type Head, isWrongHead } from './request-meta.js'
import { consentTo, isConsent } from './consent.js'
import { at, noncesIn, parse, textAt } from './json.js'
import type { Entry, Ledger } from './ledger.js'
import type { ServerPlan } from './plan.js'
import type { World } from './world.js'
import { answerTo, neededFor } from './rounds.js'

interface StatelessOp {
  readonly can: readonly Askable[]
  readonly head?: Head
  /** It comes back with such a head first. */
  readonly returnHead?: Head
  readonly returns: Returns
  readonly afterMs: number
}

/** How soon the same answers come again. */
const AGAIN_MS = 400

/** Makes a call, and comes back with answers as its plan says. */
export class StatelessCall {
  readonly #context: SimContext
  readonly #client: SimClient
  readonly #op: StatelessOp
  /** Those whose states these are not: over HTTP, where nobody is asked who it is, all are one. */
  readonly #others: readonly SimClient[]
  /** The server itself has asked, and is asked again: it gives another answer each time, and looks at arguments itself. */
  readonly #isRelayed: boolean
  /** Nothing is in the way of who comes back in time. */
  readonly #isSteady: () => boolean
  #root: Entry | undefined
  #last: Entry | undefined
  #asking: Asking | undefined
  #params = ''
  /** Requests that were sent with answers. */
  #returned = 0

  constructor(
    { host, clients }: World,
    client: SimClient,
    server: ServerPlan,
    op: StatelessOp,
    isSteady: () => boolean = () => false,
  ) {
    this.#context = host
    this.#client = client
    this.#op = op
    this.#others = clients.filter(
      ({ name, plan: { http } }) =>
        name !== client.name && (http === undefined || client.plan.http === undefined),
    )
    this.#isRelayed = server.isStateless === true
    this.#isSteady = isSteady
  }

  /** `params` are the members besides `_meta`, made with a nonce; the arguments are the last. */
  begin(asking: Asking, params: (nonce: string) => string, made: (entry: Entry) => void = () => {}): void {
    const { can, head } = this.#op
    this.#asking = asking
    this.#client.request(
      { ...asking, meta: { can, head } },
      (nonce) => (this.#params = params(nonce)),
      (waiting) => {
        made(waiting.entry)
        this.#root = waiting.entry
        this.#hears(waiting)
      },
    )
  }

  /** What it hears on this request goes on with the call. */
  #hears(waiting: Waiting): void {
    this.#last = waiting.entry
    waiting.next = (ok, text) => {
      const result = at(parse(text), 'result')
      if (ok && textAt(result, 'resultType') === 'input_required') this.#asked(waiting.entry, result)
    }
  }

  #asked(entry: Entry, result: unknown): void {
    const { ledger, clock } = this.#context
    const op = this.#op
    const root = this.#root
    // One that only wants to be asked again says nothing else.
    const asked = at(result, 'inputRequests') ?? {}
    if (root === undefined || typeof asked !== 'object' || asked === null) return
    this.#judge(root, asked)
    // Who was given the same again has been asked before; and who has given up does not come back.
    if (entry !== this.#last || entry.cancelledAt !== undefined || op.returns === 'leaves') return
    const isConsentAsked = Object.values(asked).some(isConsent)
    if (isConsentAsked && root.consent !== 'asked') ledger.asksConsent(root.nonce, this.#client.name)
    if (isConsentAsked && consentTo(root.nonce) === 'never') return
    root.askedAt ??= ledger.now
    const round: Round = { state: textAt(result, 'requestState'), asked: { ...asked } }
    clock.after(op.afterMs, () => this.#return(root, round))
  }

  /** It is asked what it said that it can be asked, and about its own call. */
  #judge(root: Entry, asked: object): void {
    const { ledger } = this.#context
    const text = JSON.stringify(asked)
    for (const question of Object.values(asked)) {
      const capability = neededFor(textAt(question, 'method') ?? '')
      if (!this.#op.can.some((name) => name === capability))
        ledger.fail('not-declared', `${root.nonce}: ${text}`)
    }
    if (noncesIn(text).some((nonce) => nonce !== root.nonce && !isGivenUp(ledger, nonce)))
      ledger.fail('foreign', `${root.nonce} is asked about another call: ${text}`)
  }

  #return(root: Entry, round: Round): void {
    const { ledger, clock } = this.#context
    const client = this.#client
    const { returns } = this.#op
    if (!client.speaks) return
    const isOwn = Object.values(round.asked).some(isConsent)
    const isRelayed = this.#isRelayed && !isOwn
    const answers = this.#answers(root, round, 'first')
    // The state of a question of the proxy is that of a principal, and here all clients are one.
    if (returns === 'stolen' && !isOwn) {
      // The state of a server passes unsigned where all clients are one principal, as they are over HTTP.
      const isSigned = ({ plan }: SimClient): boolean => plan.http === undefined && round.state !== undefined
      const thief = this.#others.find((other) => other.speaks && (!isRelayed || isSigned(other)))
      if (thief !== undefined) this.#mustBeRefused(thief, round, this.#answers(root, round, 'stolen', thief))
    }
    this.#comesWrongly(round, answers)
    if (returns === 'alters' && !isRelayed) this.#mustBeRefused(client, round, answers, ',"altered":1')
    root.askedMs += ledger.now - (root.askedAt ?? ledger.now)
    root.askedAt = undefined
    const isPart = returns === 'parts' && this.#returned === 0 && answers.length > 0
    const given = isPart ? answers.slice(1) : answers
    if (isOwn && given.length > 0 && consentTo(root.nonce) === 'accept') root.consent = 'given'
    const mustSucceed = this.#isSteady() && this.#last?.cancelledAt === undefined
    this.#returned++
    const params = paramsOf(round, given, this.#params)
    const first = this.#request({ by: client, mustSucceed, params }, (waiting) => this.#hears(waiting))
    if (isRelayed) return
    const changed = this.#answers(root, round, 'second')
    // A state is used once: other answers get nowhere, nor do the same again.
    if (returns === 'changes' && client.plan.http === undefined)
      this.#mustBeRefused(client, round, changed, '', first)
    else if (returns === 'changes' || returns === 'twice')
      clock.after(AGAIN_MS, () => {
        // Over HTTP one request may overtake another.
        const isLate = client.plan.http !== undefined && first.heardAt === undefined
        const again = returns === 'twice' ? given : changed
        if (client.speaks && !isLate) this.#mustBeRefused(client, round, again, '', first)
      })
  }

  /** Over HTTP nothing is taken whose head says something else. */
  #comesWrongly(round: Round, answers: readonly string[]): void {
    const client = this.#client
    const head = this.#op.returnHead ?? 'right'
    if (client.plan.http === undefined || !isWrongHead(head, '')) return
    this.#request({ by: client, params: paramsOf(round, answers, this.#params), head })
  }

  #answers(root: Entry, { asked }: Round, how: string, by: SimClient = this.#client): string[] {
    const nonce = by === this.#client ? root.nonce : `${by.name}-0`
    return Object.entries(asked).map(([name, question]) =>
      isConsent(question)
        ? `"${name}":{"action":"${consentTo(root.nonce)}"}`
        : `"${name}":${answerTo(question, nonce, how)}`,
    )
  }

  /** Comes with what must get nowhere; `more` is behind the other arguments, and `first` came with answers before. */
  #mustBeRefused(by: SimClient, round: Round, answers: readonly string[], more = '', first?: Entry): void {
    const params = paramsOf(round, answers, `${this.#params.slice(0, -1)}${more}${this.#params.slice(-1)}`)
    this.#request({ by, params }, (waiting) => {
      waiting.next = (ok, text) => {
        const what = `${waiting.entry.nonce} must be refused and heard ${text}`
        if (ok && !isUnused(first?.answers[0]?.text ?? '')) this.#context.ledger.fail('foreign-state', what)
      }
    })
  }

  #request({ by, mustSucceed = false, params, head }: Coming, made?: (waiting: Waiting) => void): Entry {
    const { method = '', budgetMs = 0, service } = this.#asking ?? {}
    // What is somebody else's is a call of its own.
    const own = by === this.#client && this.#root !== undefined ? { root: this.#root, head } : {}
    const asking = { method, service, budgetMs, mustSucceed, meta: { can: this.#op.can, ...own } }
    const entry = by.request(asking, () => params, made)
    // The server may ask again, and only the call as a whole has an end.
    entry.mayStandStill = true
    // The arguments belong to the first request.
    entry.args = undefined
    return entry
  }
}

/** Who comes back, and with what. */
interface Coming {
  readonly by: SimClient
  readonly mustSucceed?: boolean
  readonly params: string
  readonly head?: Head
}

interface Round {
  /** A server of 2026-07-28 may give none. */
  readonly state: string | undefined
  readonly asked: Readonly<Record<string, unknown>>
}

function paramsOf({ state }: Round, answers: readonly string[], params: string): string {
  const given = answers.length === 0 ? '' : `"inputResponses":{${answers.join(',')}},`
  const own = state === undefined ? '' : `"requestState":${JSON.stringify(state)},`
  return `${own}${given}${params}`
}

/** A server may ask about a call of this client that it was to give up, and nobody can tell. */
function isGivenUp({ entries }: Ledger, nonce: string): boolean {
  return entries.get(nonce)?.job?.cancelled === true
}

/** The state has not been used: the proxy has looked at nothing of the request, or its server was not there. */
function isUnused(text: string): boolean {
  return /"reason":"(?:overloaded|state-unknown)"|Too many large messages/.test(text)
}
