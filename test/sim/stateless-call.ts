// A call of a client without a session, from its first request to the last one that continues it.

import type { Asking, SimClient, Waiting } from './client.js'
import type { SimContext } from './byte-flow.js'
import { type Askable, type Returns, type Head, isWrongHead } from './request-meta.js'
import { consentTo, isConsent } from './consent.js'
import { at, noncesIn, parse, textAt } from './json.js'
import type { Entry } from './ledger.js'
import type { ServerPlan } from './plan.js'
import type { World } from './world.js'
import { answerTo, neededFor } from './rounds.js'

interface StatelessOp {
  readonly can: readonly Askable[]
  readonly head?: Head
  /** The header fields of a first, wrong attempt to return. */
  readonly returnHead?: Head
  readonly returns: Returns
  readonly afterMs: number
}

/** The delay before the same answers are sent again. */
const AGAIN_MS = 400

export class StatelessCall {
  readonly #context: SimContext
  readonly #client: SimClient
  readonly #op: StatelessOp
  /** Clients that must not use this client's states. Over HTTP all clients are one principal. */
  readonly #others: readonly SimClient[]
  /** The server itself asked, so it must get the request again. It checks the arguments itself. */
  readonly #isRelayed: boolean
  /** Nothing prevents an answer to a client that returns in time. */
  readonly #isSteady: () => boolean
  #root: Entry | undefined
  #last: Entry | undefined
  #asking: Asking | undefined
  #params = ''
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

  /** `params` makes the members other than `_meta` from a nonce. The arguments come last. */
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
    // A result may only ask for the request to be sent again.
    const asked = at(result, 'inputRequests') ?? {}
    if (root === undefined || typeof asked !== 'object' || asked === null) return
    this.#judge(root, asked)
    // An answer to an older request asks the same again, and a client that has given up does not return.
    if (entry !== this.#last || entry.cancelledAt !== undefined || op.returns === 'leaves') return
    const isConsentAsked = Object.values(asked).some(isConsent)
    if (isConsentAsked && root.consent !== 'asked') ledger.asksConsent(root.nonce, this.#client.name)
    if (isConsentAsked && consentTo(root.nonce) === 'never') return
    root.askedAt ??= ledger.now
    const round: Round = { state: textAt(result, 'requestState'), asked: { ...asked } }
    clock.after(op.afterMs, () => this.#return(root, round))
  }

  /** Questions must fit the declared capabilities, and be about this call. */
  #judge(root: Entry, asked: object): void {
    const { ledger } = this.#context
    const text = JSON.stringify(asked)
    for (const question of Object.values(asked)) {
      const capability = neededFor(textAt(question, 'method') ?? '')
      if (!this.#op.can.some((name) => name === capability))
        ledger.fail('not-declared', `${root.nonce}: ${text}`)
    }
    // A server may ask about a cancelled call of this client, and the proxy cannot notice.
    const isGivenUp = (nonce: string): boolean => ledger.entries.get(nonce)?.job?.cancelled === true
    if (noncesIn(text).some((nonce) => nonce !== root.nonce && !isGivenUp(nonce)))
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
    // The state of a proxy's question belongs to a principal, and over HTTP all clients are one.
    if (returns === 'stolen' && !isOwn) {
      // Over HTTP, where all clients are one principal, the proxy passes a server's state on without a signature.
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
    // A state can be used once, so other answers must be refused, and repeated ones too.
    if (returns === 'changes' && client.plan.http === undefined)
      this.#mustBeRefused(client, round, changed, '', first)
    else if (returns === 'changes' || returns === 'twice')
      clock.after(AGAIN_MS, () => {
        // Over HTTP requests may overtake each other.
        const isLate = client.plan.http !== undefined && first.heardAt === undefined
        const again = returns === 'twice' ? given : changed
        if (client.speaks && !isLate) this.#mustBeRefused(client, round, again, '', first)
      })
  }

  /** Over HTTP the proxy must refuse header fields that contradict the message. */
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

  /** `more` follows the other arguments; `first` is the request that returned answers before. */
  #mustBeRefused(by: SimClient, round: Round, answers: readonly string[], more = '', first?: Entry): void {
    const params = paramsOf(round, answers, `${this.#params.slice(0, -1)}${more}${this.#params.slice(-1)}`)
    this.#request({ by, params }, (waiting) => {
      waiting.next = (ok, text) => {
        const what = `${waiting.entry.nonce} must be refused and heard ${text}`
        if (ok && !UNUSED.test(first?.answers[0]?.text ?? ''))
          this.#context.ledger.fail('foreign-state', what)
      }
    })
  }

  #request({ by, mustSucceed = false, params, head }: Coming, made?: (waiting: Waiting) => void): Entry {
    const { method = '', budgetMs = 0, service } = this.#asking ?? {}
    // A request with the state of another client begins a new call.
    const own = by === this.#client && this.#root !== undefined ? { root: this.#root, head } : {}
    const asking = { method, service, budgetMs, mustSucceed, meta: { can: this.#op.can, ...own } }
    const entry = by.request(asking, () => params, made)
    // The server may ask again, so only the whole call has a time limit.
    entry.mayStandStill = true
    // The arguments belong to the first request.
    entry.args = undefined
    return entry
  }
}

interface Coming {
  readonly by: SimClient
  readonly mustSucceed?: boolean
  readonly params: string
  readonly head?: Head
}

interface Round {
  /** A server of 2026-07-28 may omit it. */
  readonly state: string | undefined
  readonly asked: Readonly<Record<string, unknown>>
}

function paramsOf({ state }: Round, answers: readonly string[], params: string): string {
  const given = answers.length === 0 ? '' : `"inputResponses":{${answers.join(',')}},`
  const own = state === undefined ? '' : `"requestState":${JSON.stringify(state)},`
  return `${own}${given}${params}`
}

/** The state is still unused: the proxy refused the request early, or its server was not running. */
const UNUSED = /"reason":"(?:overloaded|state-unknown)"|Too many large messages/
