// The questions of a server without sessions, and the answers that its clients return (MCP 2026-07-28, Multi
// Round-Trip Requests). No process owns them: any process of the server can continue a call.

import { at, clientOf, noncesIn, textAt } from './json.js'
import type { Ledger } from './ledger.js'

export interface ToAsk {
  /** Rounds, with the current one. */
  readonly rounds: number
  readonly atOnce: number
  /** Whether results have a state for the client to return. */
  readonly hasState: boolean
  /** Whether the result of the first round only asks to be called again. */
  readonly waits: boolean
}

/** The same after a client has returned; `missing` are the unanswered questions. */
export type Returned = ToAsk & { readonly missing: readonly Question[] }

type Question = { readonly key: string; readonly capability: string; readonly mark: string }

type Round = ToAsk & { readonly nonce: string; readonly asked: readonly Question[] }

interface Came {
  readonly instance: string
  /** The nonces of the request, and of the first request of its call. */
  readonly about: string
  readonly nonce: string
  readonly message: unknown
  readonly text: string
  /** A read, which may be sent again after it was lost. */
  readonly isRead?: boolean
}

/** The work of a call determines its questions. `n` is 0 for one question. */
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
  /** By decoded state, which clients may spell differently, or by call where no state was given. */
  readonly #rounds = new Map<string, Round>()
  readonly #questions = new Map<string, { readonly nonce: string; readonly mark: string }>()
  readonly #seen = new Set<string>()
  #count = 0

  constructor(server: string, ledger: Ledger) {
    this.#server = server
    this.#ledger = ledger
  }

  /** The round that a request continues. Undefined for the first request of a call. */
  returned(came: Came): Returned | undefined {
    const { instance, about, nonce, message, text } = came
    const written = /"requestState":("(?:[^"\\]|\\.)*")/.exec(text)?.[1]
    const state = written === undefined ? undefined : decoded(written)
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

  /** Raw JSON of the result that asks for the missing or for new answers. Undefined when no question remains. */
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
    // A client that parses and writes the state again changes this spelling.
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

  #judge({ instance, nonce, text }: Came, key: string, answer: unknown): void {
    const said = textAt(answer, 'said') ?? ''
    const question = this.#questions.get(key)
    const mark = markIn(said)
    const isOwn = noncesIn(said).every((own) => own === nonce)
    if (question?.nonce !== nonce || (mark !== undefined && mark !== question.mark) || !isOwn)
      this.#ledger.fail('foreign-answer', `${instance} had ${key} answered so: ${text}`)
  }
}

const decoded = (state: string): string => String(JSON.parse(state))

// Questions of scripted servers. Each has a mark, which shows what an answer belongs to.

/** Capabilities, in the order in which servers choose. */
export const askable = ['sampling', 'elicitation', 'roots'] as const

const methods: Readonly<Record<string, string>> = {
  sampling: 'sampling/createMessage',
  elicitation: 'elicitation/create',
  roots: 'roots/list',
}

export const methodOf = (capability: string): string => methods[capability] ?? ''

export function neededFor(method: string): string | undefined {
  return Object.keys(methods).find((capability) => methods[capability] === method)
}

/** Appears in one question and in its answer only. */
export const markOf = (name: string): string => `mark:${name};`

export const markIn = (text: string): string | undefined => /mark:[a-z]\d+[#~]\d+-\d+;/.exec(text)?.[0]

/** Params that identify the question even without the parts that only sessions have. */
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

/** `how` varies the wording. */
export function answerTo(question: unknown, nonce: string, how: string): string {
  const mark = markIn(JSON.stringify(question)) ?? ''
  const isForm = textAt(question, 'method') === 'elicitation/create'
  return `{${isForm ? '"action":"accept",' : ''}"said":"n:${nonce}; ${mark}","how":"${how}"}`
}
