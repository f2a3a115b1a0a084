// What a server has asked during one call, and its client has not answered.

import { buildResult } from '../../jsonrpc/build.js'
import { fault } from '../../jsonrpc/errors.js'
import { type RequestFrame, type ResultFrame, readFrame } from '../../jsonrpc/frame.js'
import type { RequestId } from '../../jsonrpc/request-id.js'
import { quote, rawAt, stringAt } from '../../jsonrpc/text.js'
import type { Asker, ServerQuestion } from '../../mcp/call.js'
import { clientUnreachable } from '../../mcp/error-codes.js'

interface OpenQuestion {
  readonly question: ServerQuestion
  readonly id: RequestId
  readonly method: string
  /** Raw JSON: the message it came in is not kept. */
  readonly params: string
}

const CANCEL = '{"action":"cancel"}'

/** Names them for a client without sessions, and answers the server as its own revision has it. */
export class OpenQuestions {
  readonly #open = new Map<string, OpenQuestion>()
  /** No two questions of one call have one name. */
  #named = 0

  get size(): number {
    return this.#open.size
  }

  has(name: string): boolean {
    return this.#open.has(name)
  }

  add(question: ServerQuestion): void {
    const { frame } = question
    const { id, method } = frame
    this.#open.set(`q${++this.#named}`, { question, id, method, params: paramsOf(frame) })
  }

  /** Raw JSON of the `inputRequests` (MCP 2026-07-28, Multi Round-Trip Requests). */
  get requests(): string {
    const members = [...this.#open].map(
      ([name, { method, params }]) => `"${name}":{"method":${quote(method)},"params":${params}}`,
    )
    return `{${members.join(',')}}`
  }

  /** Gives the server a client's answer, which is raw JSON. */
  answer(name: string, answer: string): void {
    const open = this.#open.get(name)
    if (open === undefined) return
    this.#drop(name, open)
    const { question, id } = open
    question.asker.answered(resultFrame(id, answer), id)
  }

  /** Nobody will answer: a form is cancelled, and the rest refused. */
  giveUp(): void {
    for (const [name, open] of this.#open) {
      if (open.method === 'elicitation/create') this.answer(name, CANCEL)
      else {
        this.#drop(name, open)
        open.question.asker.refused(open.id, clientUnreachable())
      }
    }
  }

  /** The server has taken a question back. */
  withdraw(id: string, asker: Asker): void {
    for (const [name, open] of this.#of(asker)) if (open.id === id) this.#drop(name, open)
  }

  /** Nobody reads the answers to what this server has asked. */
  forget(asker: Asker): void {
    for (const [name, open] of this.#of(asker)) this.#drop(name, open)
  }

  /** The call has ended. */
  clear(): void {
    for (const [name, open] of this.#open) this.#drop(name, open)
  }

  owes(asker: Asker): boolean {
    return this.#of(asker).length > 0
  }

  #of(asker: Asker): [string, OpenQuestion][] {
    return [...this.#open].filter(([, { question }]) => question.asker === asker)
  }

  #drop(name: string, { question }: OpenQuestion): void {
    this.#open.delete(name)
    question.over()
  }
}

/** A result as if its sender had written it so. */
export function resultFrame(id: RequestId, result: string): ResultFrame {
  const frame = readFrame(buildResult(id, result))
  if (frame.kind === 'result') return frame
  throw fault('a result is a result')
}

/** What stands in a request of a session only. */
const sessionsOnly: ReadonlySet<string> = new Set(['task', 'elicitationId', '_meta'])

/** The params for a client without sessions, as raw JSON. */
function paramsOf({ line, params: { span, members } }: RequestFrame): string {
  if (span === undefined) return '{}'
  const kept = [...members].filter(({ key }) => !sessionsOnly.has(stringAt(line, key) ?? ''))
  if (kept.length === members.size) return rawAt(line, span)
  return `{${kept.map(({ key, value }) => `${rawAt(line, key)}:${rawAt(line, value)}`).join(',')}}`
}
