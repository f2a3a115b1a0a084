// A response or an event that came, against the line of the transcript that expects it.

import { quote } from '../jsonrpc/text.js'
import { type Difference, type Knowledge, type MessageVerdict, type Mode, compareFrames } from './compare.js'
import type { Part } from './http-exchange.js'
import type { EventStep, ExpectedStep, HeaderField, Payload, ResponseStep } from './http-line.js'
import { jsonTreeOf } from './json-tree.js'
import type { Pattern } from './pattern.js'

type Response = Extract<Part, { kind: 'response' }>
type StreamEvent = Extract<Part, { kind: 'event' }>

export type HttpCheck =
  /** `bound` are the names that have a value now. */
  | { readonly kind: 'equal'; readonly bound: ReadonlyMap<string, string> }
  | { readonly kind: 'unlike'; readonly problem: string }
  | {
      readonly kind: 'different'
      readonly difference: Difference
      readonly expected: Buffer
      readonly came: Buffer
    }

/** Whether a part is what a line expects. */
export function check(step: ExpectedStep, came: Part, known: Knowledge): HttpCheck {
  if (step.kind === 'response' && came.kind === 'response') return checkResponse(step, came, known)
  if (step.kind === 'event' && came.kind === 'event') return checkEvent(step, came, known)
  return { kind: 'equal', bound: new Map() }
}

function checkResponse(step: ResponseStep, came: Response, known: Knowledge): HttpCheck {
  if (step.status !== came.status) return unlike(`the status is ${came.status}, not ${step.status}`)
  const findings = new Findings(known)
  for (const field of step.fields) {
    const problem = findings.field(field, came.headers.get(field.name.toLowerCase()))
    if (problem !== undefined) return unlike(problem)
  }
  if (came.body === undefined)
    return step.payload === undefined ? findings.all : unlike('events come instead of a body')
  if (step.payload !== undefined) return findings.payload(step.payload, came.body)
  return came.body.length === 0 ? findings.all : unlike('there is a body, and none is expected')
}

function checkEvent(step: EventStep, came: StreamEvent, known: Knowledge): HttpCheck {
  if (step.type !== came.type) return unlike(`the event is "${came.type}", not "${step.type}"`)
  const findings = new Findings(known)
  for (const name of ['id', 'retry'] as const) {
    const pattern = step[name]
    if (pattern === undefined) continue
    const values = pattern === null ? null : [pattern]
    const problem = findings.field({ name, values }, came[name])
    if (problem !== undefined) return unlike(problem)
  }
  return findings.payload(step.payload, came.data)
}

/** What is known while one part is checked: a name may be used in the line that gives it its value. */
class Findings {
  readonly #known: Knowledge
  readonly #values: Map<string, string>

  constructor(known: Knowledge) {
    this.#values = new Map(known.values)
    this.#known = { ...known, values: this.#values }
  }

  get all(): HttpCheck {
    return { kind: 'equal', bound: this.#values }
  }

  /** What is wrong with a field. */
  field({ name, values }: HeaderField<Pattern>, came: string | undefined): string | undefined {
    if (values === null) return came === undefined ? undefined : `${name} is there: ${came}`
    if (came === undefined) return `${name} is missing`
    const isOne = values.some((pattern) => this.#isText(pattern, came))
    return isOne ? undefined : `${name} is "${came}", not ${values.map(written).join(' or ')}`
  }

  payload(payload: Payload, came: Buffer): HttpCheck {
    switch (payload.kind) {
      case 'any':
        return this.all
      case 'junk':
        return payload.bytes.equals(came) ? this.all : unlike('the bytes are others')
      case 'text':
        return this.#isText(payload.pattern, came.toString()) ? this.all : unlike('the text is another')
      case 'frame': {
        const verdict = this.#compare(payload.pattern, came, payload.mode)
        if (verdict === undefined) return unlike('it is no JSON')
        return verdict.kind === 'equal' ? this.all : { ...verdict, expected: payload.bytes, came }
      }
    }
  }

  #isText(pattern: Pattern, came: string): boolean {
    return this.#compare(pattern, Buffer.from(quote(came)), 'json')?.kind === 'equal'
  }

  /** Undefined for what is no JSON. */
  #compare(pattern: Pattern, bytes: Buffer, mode: Mode): MessageVerdict | undefined {
    const tree = jsonTreeOf(bytes)
    if (tree === undefined) return undefined
    const verdict = compareFrames(pattern, { bytes, tree }, mode, this.#known)
    if (verdict.kind === 'equal') for (const [name, value] of verdict.bound) this.#values.set(name, value)
    return verdict
  }
}

function unlike(problem: string): HttpCheck {
  return { kind: 'unlike', problem }
}

function written({ bytes }: Pattern): string {
  return bytes.toString()
}

/** What a line expects, in words. */
export function stepTitle({ kind }: ExpectedStep, method: string): string {
  if (kind === 'event') return `an event on ${method}`
  return kind === 'end' ? `the end of the response to ${method}` : `the response to ${method}`
}

export function stepBytes(step: ExpectedStep): Buffer {
  if (step.kind === 'end') return Buffer.from('(end)')
  const head = step.kind === 'response' ? `HTTP ${step.status} ` : `event ${step.type}: `
  return Buffer.concat([Buffer.from(head), step.payload?.bytes ?? Buffer.alloc(0)])
}

/** A part as a report shows it. */
export function partBytes(part: Part): Buffer {
  switch (part.kind) {
    case 'response': {
      const body = part.body ?? Buffer.from('(events)')
      return Buffer.concat([Buffer.from(`HTTP ${part.status} `), body])
    }
    case 'event':
      return Buffer.concat([Buffer.from(`event ${part.type}: `), part.data])
    case 'end':
      return Buffer.from('(end)')
    case 'broken':
      return Buffer.from(`(${part.why})`)
  }
}
