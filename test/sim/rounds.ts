// What a server without sessions has asked, and what its clients come back with (MCP 2026-07-28, Multi Round-Trip
// Requests).
//
// Nothing of it belongs to one process: whichever gets the next request goes on with the call.

import { at, clientOf, noncesIn, textAt } from './json.js'
import type { Ledger } from './ledger.js'

/** What is still to be asked during one call. */
export interface ToAsk {
  /** Rounds, with the one that is being answered. */
  readonly rounds: number
  readonly atOnce: number
  /** Whether its client is given a state to come back with. */
  readonly hasState: boolean
  /** Whether the first round asks for nothing but to be asked again. */
  readonly waits: boolean
}

/** What a client was asked before, and has not answered now. */
export interface Returned extends ToAsk {
  readonly missing: readonly Question[]
}

interface Question {
  readonly key: string
  readonly capability: string
  readonly mark: string
}

interface Round extends ToAsk {
  readonly nonce: string
  readonly asked: readonly Question[]
}

interface Came {
  readonly instance: string
  /** Of the request, and of the first one of its call. */
  readonly about: string
  readonly nonce: string
  readonly message: unknown
  readonly text: string
  /** It only reads, and may be sent again when it was lost. */
  readonly isRead?: boolean
}

/** What a call asks for is drawn with its work; `n` is 0 where it asks for one thing. */
export function askedBy({ n }: { readonly n: number }): ToAsk {
  return {
    rounds: 1 + (n % 2),
    atOnce: n === 0 ? 1 : 1 + (n % 3),
    hasState: n === 0 || n % 4 !== 0,
    waits: n === 7,
  }
}

export class Rounds {
  readonly #ledger: Ledger
  readonly #server: string
  /** By their states, which clients may spell otherwise; those without one by their calls. */
  readonly #rounds = new Map<string, Round>()
  readonly #questions = new Map<string, { readonly nonce: string; readonly mark: string }>()
  readonly #seen = new Set<string>()
  #count = 0

  constructor(server: string, ledger: Ledger) {
    this.#server = server
    this.#ledger = ledger
  }

  /** What a request comes back to; undefined for the first one of a call. */
  returned(came: Came): Returned | undefined {
    const { instance, about, nonce, message, text } = came
    const state = stateIn(text)
    const responses = at(message, 'params', 'inputResponses')
    if (state === undefined && responses === undefined) return undefined
    const given = typeof responses === 'object' && responses !== null ? Object.entries(responses) : []
    const keys = given.map(([key]) => key)
    const round = this.#rounds.get(state ?? nonce)
    if (round?.nonce !== nonce || clientOf(about) !== clientOf(nonce))
      this.#ledger.fail('foreign-state', `${instance} gave no such state for ${about}: ${text}`)
    for (const [key, answer] of given) this.#judge(came, key, answer)
    const once = `${about} ${state ?? keys.join(' ')}`
    if (this.#seen.has(once) && came.isRead !== true)
      this.#ledger.fail('executed-twice', `${instance} was asked again: ${text}`)
    this.#seen.add(once)
    const asked = round?.asked ?? []
    return { ...(round ?? askedBy({ n: 0 })), missing: asked.filter(({ key }) => !keys.includes(key)) }
  }

  /** Raw JSON of the result that asks for what is missing, or for more; undefined when nothing is left to be asked. */
  next(nonce: string, to: ToAsk | Returned, can: readonly string[]): string | undefined {
    if (can.length === 0) return undefined
    const missing = 'missing' in to ? to.missing : []
    if (missing.length > 0) return this.#ask(nonce, to, missing)
    const rounds = 'missing' in to ? to.rounds - 1 : to.rounds
    if (rounds === 0) return undefined
    const left = { ...to, rounds, waits: false }
    return this.#ask(nonce, left, to.waits ? [] : this.#newQuestions(nonce, to.atOnce, can))
  }

  #newQuestions(nonce: string, count: number, can: readonly string[]): Question[] {
    return Array.from({ length: count }, (_, index) => {
      const number = ++this.#count
      const mark = markOf(`${this.#server}~0-${number}`)
      this.#questions.set(`k${number}`, { nonce, mark })
      return { key: `k${number}`, capability: can[index % can.length] ?? '', mark }
    })
  }

  #ask(nonce: string, to: ToAsk, asked: readonly Question[]): string {
    const { rounds, atOnce, hasState, waits } = to
    const isStated = hasState || asked.length === 0
    // Whoever reads it and writes it again would change it.
    const state = isStated ? `"\\u0041\\/${this.#server} ${++this.#count}"` : undefined
    const round = { nonce, rounds, atOnce, hasState, waits, asked }
    this.#rounds.set(state === undefined ? nonce : decoded(state), round)
    const requests = asked.map(({ key, capability, mark }) => {
      const params = questionParams(capability, `n:${nonce}; ${mark}`)
      return `"${key}":{"method":"${methodOf(capability)}","params":${params}}`
    })
    const members = [
      ...(asked.length === 0 ? [] : [`"inputRequests":{${requests.join(',')}}`]),
      ...(state === undefined ? [] : [`"requestState":${state}`]),
    ]
    return `{"resultType":"input_required",${members.join(',')}}`
  }

  /** The answer belongs to this question, and is its own client's. */
  #judge({ instance, nonce, text }: Came, key: string, answer: unknown): void {
    const said = textAt(answer, 'said') ?? ''
    const question = this.#questions.get(key)
    const mark = markIn(said)
    const isOwn = noncesIn(said).every((own) => own === nonce)
    if (question?.nonce !== nonce || (mark !== undefined && mark !== question.mark) || !isOwn)
      this.#ledger.fail('foreign-answer', `${instance} had ${key} answered so: ${text}`)
  }
}

function stateIn(text: string): string | undefined {
  const state = /"requestState":("(?:[^"\\]|\\.)*")/.exec(text)?.[1]
  return state === undefined ? undefined : decoded(state)
}

function decoded(state: string): string {
  return String(JSON.parse(state))
}

// What scripted servers ask, so that it can be told which of several questions an answer is for.

/** What a client can be asked, in the order in which servers choose. */
export const askable = ['sampling', 'elicitation', 'roots'] as const

const methods: Readonly<Record<string, string>> = {
  sampling: 'sampling/createMessage',
  elicitation: 'elicitation/create',
  roots: 'roots/list',
}

export function methodOf(capability: string): string {
  return methods[capability] ?? ''
}

export function neededFor(method: string): string | undefined {
  return Object.keys(methods).find((capability) => methods[capability] === method)
}

/** A word that stands in one question and in its answer, and nowhere else. */
export function markOf(name: string): string {
  return `mark:${name};`
}

export function markIn(text: string): string | undefined {
  return /mark:[a-z]\d+[#~]\d+-\d+;/.exec(text)?.[0]
}

/** Params that are still the question's own once what belongs to a session is left out. */
export function questionParams(capability: string, about: string): string {
  switch (capability) {
    case 'elicitation':
      return `{"message":"${about}","requestedSchema":{"type":"object","properties":{}}}`
    case 'sampling':
      return `{"messages":[{"role":"user","content":{"type":"text","text":"${about}"}}],"maxTokens":1}`
    default:
      return `{"_meta":{"about":"${about}"}}`
  }
}

/** What a client says to a question; `how` makes it other words. */
export function answerTo(question: unknown, nonce: string, how: string): string {
  const mark = markIn(JSON.stringify(question)) ?? ''
  const isForm = textAt(question, 'method') === 'elicitation/create'
  return `{${isForm ? '"action":"accept",' : ''}"said":"n:${nonce}; ${mark}","how":"${how}"}`
}
