// A call of a client without a session, from its first request to the last that comes back to it.

import type { Asking, SimClient, Waiting } from './client.js'
import type { SimContext } from './byte-flow.js'
import { type Askable, type Returns, type Head, isWrongHead } from './request-meta.js'
import { consentTo, isConsent } from './consent.js'
import { at, noncesIn, parse, rawId, textAt } from './json.js'
import type { Entry, Ledger } from './ledger.js'
import { answerTo, neededFor } from './rounds.js'

export interface StatelessOp {
  readonly can: readonly Askable[]
  readonly head?: Head
  /** It comes back with such a head first. */
  readonly returnHead?: Head
  readonly returns: Returns
  readonly afterMs: number
}

export interface StatelessCallParts {
  readonly client: SimClient
  readonly context: SimContext
  readonly op: StatelessOp
  /** Those whose states these are not. */
  readonly others: readonly SimClient[]
  /** Nothing is in the way of who comes back in time. */
  readonly isSteady: () => boolean
  /** The server itself has asked, and is asked again: it gives another answer each time, and looks at arguments itself. */
  readonly isRelayed: boolean
}

/** What came of a request that was sent with answers. */
interface Heard {
  entry: Entry | undefined
  outcome: string | undefined
}

/** How soon the same answers come again. */
const AGAIN_MS = 400

/** Makes a call, and comes back with answers as its plan says. */
export class StatelessCall {
  readonly #parts: StatelessCallParts
  #root: Entry | undefined
  #last: Entry | undefined
  #asking: Asking | undefined
  #params = ''
  /** Requests that were sent with answers. */
  #returned = 0

  constructor(parts: StatelessCallParts) {
    this.#parts = parts
  }

  /** `params` are the members besides `_meta`, made with a nonce; the arguments are the last. */
  begin(asking: Asking, params: (nonce: string) => string, made: (entry: Entry) => void = () => {}): void {
    const { client, op } = this.#parts
    this.#asking = asking
    client.request(
      { ...asking, meta: { can: op.can, head: op.head } },
      (nonce) => (this.#params = params(nonce)),
      (waiting) => {
        made(waiting.entry)
        this.#root = waiting.entry
        this.#last = waiting.entry
        this.#hears(waiting, undefined)
      },
    )
  }

  #hears(waiting: Waiting, heard: Heard | undefined): void {
    waiting.next = (ok, text) => {
      if (heard !== undefined) heard.outcome = outcomeIn(text)
      const result = at(parse(text), 'result')
      if (ok && textAt(result, 'resultType') === 'input_required') this.#asked(waiting.entry, result)
    }
  }

  #asked(entry: Entry, result: unknown): void {
    const { context, op } = this.#parts
    const { ledger } = context
    const root = this.#root
    // One that only wants to be asked again says nothing else.
    const asked = at(result, 'inputRequests') ?? {}
    if (root === undefined || typeof asked !== 'object' || asked === null) return
    this.#judge(root, asked)
    // Who was given the same again has been asked before; and who has given up does not come back.
    if (entry !== this.#last || entry.cancelledAt !== undefined || op.returns === 'leaves') return
    const isConsentAsked = Object.values(asked).some(isConsent)
    if (isConsentAsked && root.consent !== 'asked') ledger.asksConsent(root.nonce, this.#parts.client.name)
    if (isConsentAsked && consentTo(root.nonce) === 'never') return
    root.askedAt ??= ledger.now
    const round: Round = { state: textAt(result, 'requestState'), asked: { ...asked } }
    context.clock.after(op.afterMs, () => this.#return(root, round))
  }

  /** It is asked what it said that it can be asked, and about its own call. */
  #judge(root: Entry, asked: object): void {
    const { context, op } = this.#parts
    const { ledger } = context
    const text = JSON.stringify(asked)
    for (const question of Object.values(asked)) {
      const capability = neededFor(textAt(question, 'method') ?? '')
      if (!op.can.some((name) => name === capability)) ledger.fail('not-declared', `${root.nonce}: ${text}`)
    }
    if (noncesIn(text).some((nonce) => nonce !== root.nonce && !isGivenUp(ledger, nonce)))
      ledger.fail('foreign', `${root.nonce} is asked about another call: ${text}`)
  }

  #return(root: Entry, round: Round): void {
    const { client, op, others, context } = this.#parts
    const { ledger } = context
    if (!client.speaks) return
    const isOwn = Object.values(round.asked).some(isConsent)
    const isRelayed = this.#parts.isRelayed && !isOwn
    const answers = this.#answers(root, round, 'first')
    // The state of a question of the proxy is that of a principal, and here all clients are one.
    if (op.returns === 'stolen' && !isOwn) {
      // The state of a server passes unsigned where all clients are one principal, as they are over HTTP.
      const isSigned = ({ plan }: SimClient): boolean => plan.http === undefined && round.state !== undefined
      const thief = others.find((other) => other.speaks && (!isRelayed || isSigned(other)))
      if (thief !== undefined) this.#mustBeRefused(thief, round, this.#answers(root, round, 'stolen', thief))
    }
    this.#comesWrongly(round, answers)
    if (op.returns === 'alters' && !isRelayed) this.#mustBeRefused(client, round, answers, ',"altered":1')
    root.askedMs += ledger.now - (root.askedAt ?? ledger.now)
    root.askedAt = undefined
    const isPart = op.returns === 'parts' && this.#returned === 0 && answers.length > 0
    const given = isPart ? answers.slice(1) : answers
    if (isOwn && given.length > 0 && consentTo(root.nonce) === 'accept') root.consent = 'given'
    const heard = this.#send(given, round)
    if (op.returns === 'changes' && !isRelayed) this.#changes(root, round, heard)
    if (op.returns === 'twice' && !isRelayed)
      this.#parts.context.clock.after(AGAIN_MS, () => this.#again(round, given, heard))
  }

  /** Over HTTP nothing is taken whose head says something else. */
  #comesWrongly(round: Round, answers: readonly string[]): void {
    const { client, op } = this.#parts
    const head = op.returnHead ?? 'right'
    if (client.plan.http === undefined || !isWrongHead(head, '')) return
    const params = paramsOf(round, answers, this.#params)
    this.#request({ by: client, mustSucceed: false, params, head }, () => undefined)
  }

  /** Comes with other answers behind the first: over HTTP only once those are there, as one request may overtake another. */
  #changes(root: Entry, round: Round, first: Heard): void {
    const { context, client } = this.#parts
    const others = (): void =>
      this.#mustBeRefused(client, round, this.#answers(root, round, 'second'), '', first)
    if (client.plan.http === undefined) return others()
    context.clock.after(AGAIN_MS, () => {
      if (client.speaks && first.entry?.heardAt !== undefined) others()
    })
  }

  #answers(root: Entry, { asked }: Round, how: string, by: SimClient = this.#parts.client): string[] {
    const nonce = by === this.#parts.client ? root.nonce : `${by.name}-0`
    return Object.entries(asked).map(([name, question]) =>
      isConsent(question)
        ? `"${name}":{"action":"${consentTo(root.nonce)}"}`
        : `"${name}":${answerTo(question, nonce, how)}`,
    )
  }

  /** Comes back; what it hears goes on with the call. */
  #send(answers: readonly string[], round: Round): Heard {
    const { client, isSteady } = this.#parts
    const heard: Heard = { entry: undefined, outcome: undefined }
    const mustSucceed = isSteady() && this.#last?.cancelledAt === undefined
    this.#returned++
    this.#request({ by: client, mustSucceed, params: paramsOf(round, answers, this.#params) }, (waiting) => {
      this.#last = waiting.entry
      heard.entry = waiting.entry
      this.#hears(waiting, heard)
    })
    return heard
  }

  /** The same answers again get nowhere: a state is used once. */
  #again(round: Round, answers: readonly string[], first: Heard): void {
    const { client } = this.#parts
    // Over HTTP one request may overtake another.
    const isLate = client.plan.http !== undefined && first.entry?.heardAt === undefined
    if (client.speaks && !isLate) this.#mustBeRefused(client, round, answers, '', first)
  }

  /** Comes with what must get nowhere; `more` is behind the other arguments, and `first` came with answers before. */
  #mustBeRefused(by: SimClient, round: Round, answers: readonly string[], more = '', first?: Heard): void {
    const { ledger } = this.#parts.context
    const params = paramsOf(round, answers, `${this.#params.slice(0, -1)}${more}${this.#params.slice(-1)}`)
    this.#request({ by, mustSucceed: false, params }, (waiting) => {
      waiting.next = (ok, text) => {
        if (ok && !isUnused(first?.outcome ?? ''))
          ledger.fail('foreign-state', `${waiting.entry.nonce} must be refused and heard ${text}`)
      }
    })
  }

  #request({ by, mustSucceed, params, head }: Coming, made: (waiting: Waiting) => void): void {
    const { op, client } = this.#parts
    const { method = '', budgetMs = 0, service } = this.#asking ?? {}
    // What is somebody else's is a call of its own.
    const meta =
      by === client && this.#root !== undefined ? { can: op.can, root: this.#root, head } : { can: op.can }
    const asking = { method, service, budgetMs, mustSucceed, meta }
    const entry = by.request(asking, () => params, made)
    // The server may ask again, and only the call as a whole has an end.
    entry.mayStandStill = true
    // The arguments belong to the first request.
    entry.args = undefined
  }
}

/** Who comes back, and with what. */
interface Coming {
  readonly by: SimClient
  readonly mustSucceed: boolean
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
  const isOverloaded = text.includes('"reason":"overloaded"') || text.includes('Too many large messages')
  return isOverloaded || text.includes('"reason":"state-unknown"')
}

/** What stands behind the id of an answer. */
function outcomeIn(text: string): string {
  const id = `"id":${rawId(text) ?? ''}`
  return text.slice(text.indexOf(id) + id.length)
}
