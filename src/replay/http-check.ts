// A response or an event that came, against the line of the transcript that expects it.

import { quote } from '../jsonrpc/text.js'
import { type Difference, type Knowledge, compareFrames } from './compare.js'
import type { Part } from './http-exchange.js'
import type { EventStep, ExpectedStep, HeaderField, Payload, ResponseStep } from './http-line.js'
import { readTree } from './json-tree.js'
import type { Pattern } from './pattern.js'

type Response = Extract<Part, { kind: 'response' }>
type StreamEvent = Extract<Part, { kind: 'event' }>

export type HttpCheck =
  /** `bound` are names that got a value. */
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

/** What is known while one part is checked. */
class Findings {
  readonly #known: Knowledge
  #bound: ReadonlyMap<string, string> = new Map()

  constructor(known: Knowledge) {
    this.#known = known
  }

  get all(): HttpCheck {
    return { kind: 'equal', bound: this.#bound }
  }

  /** What is wrong with a field. */
  field({ name, values }: HeaderField<Pattern>, came: string | undefined): string | undefined {
    if (values === null) return came === undefined ? undefined : `${name} is there: ${came}`
    if (came === undefined) return `${name} is missing`
    const isOne = values.some((pattern) => this.#text(pattern, came))
    return isOne ? undefined : `${name} is "${came}", not ${values.map(written).join(' or ')}`
  }

  payload(payload: Payload, came: Buffer): HttpCheck {
    switch (payload.kind) {
      case 'any':
        return this.all
      case 'bytes':
        return payload.bytes.equals(came) ? this.all : unlike('the bytes are others')
      case 'text':
        return this.#text(payload.pattern, came.toString()) ? this.all : unlike('the text is another')
      case 'frame':
        return this.#frame(payload, came)
    }
  }

  #frame({ pattern, mode, bytes }: Extract<Payload, { kind: 'frame' }>, came: Buffer): HttpCheck {
    const tree = treeOf(came)
    if (tree === undefined) return unlike('it is no JSON')
    const verdict = compareFrames(pattern, { bytes: came, tree }, mode, this.#now())
    if (verdict.kind === 'different') return { ...verdict, expected: bytes, came }
    this.#bound = new Map([...this.#bound, ...verdict.bound])
    return this.all
  }

  #text(pattern: Pattern, came: string): boolean {
    const bytes = Buffer.from(quote(came))
    const verdict = compareFrames(pattern, { bytes, tree: readTree(bytes) }, 'json', this.#now())
    if (verdict.kind === 'equal') this.#bound = new Map([...this.#bound, ...verdict.bound])
    return verdict.kind === 'equal'
  }

  /** A name may be used in the line that gives it its value. */
  #now(): Knowledge {
    return { ...this.#known, values: new Map([...this.#known.values, ...this.#bound]) }
  }
}

function unlike(problem: string): HttpCheck {
  return { kind: 'unlike', problem }
}

function written({ bytes }: Pattern): string {
  return bytes.toString()
}

function treeOf(bytes: Buffer): ReturnType<typeof readTree> | undefined {
  try {
    return readTree(bytes)
  } catch {
    return undefined
  }
}

/** What a line expects, in words. */
export function stepTitle(step: ExpectedStep, method: string): string {
  switch (step.kind) {
    case 'response':
      return `the response to ${method}`
    case 'event':
      return `an event on ${method}`
    case 'end':
      return `the end of the response to ${method}`
  }
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
