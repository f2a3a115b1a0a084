// Checks a call's arguments against the tool's own schema, and makes the error.
//
// Calls reach a server in the order in which they came, though one may have to wait until its tool's schema is compiled
// and the next has nothing to wait for.

import { OPEN_OBJECT } from '../../jsonrpc/ascii.js'
import type { RequestFrame } from '../../jsonrpc/frame.js'
import type { Span } from '../../jsonrpc/scan.js'
import type { Edit } from '../../jsonrpc/splice.js'
import { type Call, toolFailure } from '../../calls/call.js'
import { internalError, invalidArguments, invalidParams } from '../../mcp/error-codes.js'
import type { ListItem } from '../../mcp/list-items.js'
import {
  type ArgumentFault,
  ArgumentValidator,
  prepareValidators,
} from '../../mcp/arguments/argument-validator.js'
import type { LogSink, Runtime } from '../../runtime/runtime.js'
import type { Target } from './catalog.js'
import type { CallTarget } from '../../upstream/contracts/upstream.js'

/** The first requests of a session are answered before this. */
const PREPARE_DELAY_MS = 5

/** With which the JSON of null begins, and no other. */
const NULL = 0x6e

type Fault = ArgumentFault | undefined

/** Gives a call to its lane when its turn has come; one function for all calls of a client. */
export type Pass = (call: Call, lane: CallTarget, edits: readonly Edit[]) => void

/** The validators of tools, compiled when a tool is first called. */
export class ArgumentChecks {
  /** The last call to each lane of those that wait for their turn. */
  readonly #last = new WeakMap<CallTarget, Promise<void>>()
  readonly #validators = new WeakMap<ListItem, ArgumentValidator>()
  readonly #log: LogSink
  #isPrepared = false

  constructor(log: LogSink) {
    this.#log = log
  }

  /**
   * Compiles a first schema while no call waits for it, once a client may call one of these tools: that is most of what
   * the first check takes.
   */
  prepare(tools: Iterable<Pick<ListItem, 'schemaSpan'>>, runtime: Pick<Runtime, 'setTimer'>): void {
    if (this.#isPrepared) return
    for (const { schemaSpan } of tools) {
      if (schemaSpan === undefined) continue
      this.#isPrepared = true
      runtime.setTimer(PREPARE_DELAY_MS, () => {
        void prepareValidators()
      })
      return
    }
  }

  /**
   * Whether the call may go now, which is nearly always so.
   *
   * Else it is settled since its arguments do not fit, or `pass` is called in its turn when they do.
   */
  fits(call: Call, target: Target, edits: readonly Edit[], pass: Pass): boolean {
    const { frame } = call
    const span = frame.params.members.span('arguments')
    const isChecked = target.lane.config.argumentChecks === 'on'
    const first = span && frame.line[span.start]
    const isObject = first === OPEN_OBJECT
    // Servers in Python take null for no arguments.
    if (first !== undefined && !isObject && first !== NULL) {
      call.fail(invalidParams("'arguments' must be object", { parameter: 'arguments' }))
      return false
    }
    const json = isObject ? span && frame.line.subarray(span.start, span.end) : undefined
    const fault = isChecked ? this.#fault(target, json, span && valuesIn(frame, span)) : undefined
    if (fault === undefined && !this.#last.has(target.lane)) return true
    this.#takeTurn(call, target.lane, fault, edits, pass)
    return false
  }

  /** The same for a call with nothing to check, which leaves behind those that are being checked. */
  isTurn(call: Call, lane: CallTarget, edits: readonly Edit[], pass: Pass): boolean {
    if (!this.#last.has(lane)) return true
    this.#takeTurn(call, lane, undefined, edits, pass)
    return false
  }

  #takeTurn(
    call: Call,
    lane: CallTarget,
    fault: Fault | Promise<Fault>,
    edits: readonly Edit[],
    pass: Pass,
  ): void {
    const before = this.#last.get(lane)
    const end = (found: Fault): void => (found === undefined ? pass(call, lane, edits) : refuse(call, found))
    if (before === undefined && !(fault instanceof Promise)) return end(fault)
    call.keep()
    const turn = Promise.all([fault, before])
      .then(([found]) => {
        if (!call.settled) end(found)
      })
      .catch(() => call.fail(internalError('the arguments could not be checked')))
      .finally(() => {
        if (this.#last.get(lane) === turn) this.#last.delete(lane)
      })
    this.#last.set(lane, turn)
  }

  /** Synchronous for all calls but the first of a tool, which waits for its schema. */
  #fault(
    target: Target,
    json: Buffer | undefined,
    known: readonly number[] | undefined,
  ): Fault | Promise<Fault> {
    const { schemaSpan } = target.item
    if (schemaSpan === undefined) return undefined
    const validator = this.#validators.get(target.item) ?? this.#newValidator(target, schemaSpan)
    return validator.check(json, known)
  }

  #newValidator({ item, lane, publicName }: Target, { start, end }: Span): ArgumentValidator {
    const validator = new ArgumentValidator({
      tool: publicName,
      schema: item.line.subarray(start, end),
      warn: (message) => this.#log({ level: 'warn', service: lane.config.name, message }),
    })
    this.#validators.set(item, validator)
    return validator
  }
}

function refuse(call: Call, fault: ArgumentFault): void {
  const { message, parameter, details } = fault
  if (call.context.revision.argumentErrors === 'protocol')
    return call.fail(invalidArguments(message, { parameter, ...details }))
  call.settle({ kind: 'result', result: toolFailure(message), refusal: message })
}

/** The long values inside a value, counted from its start. */
function valuesIn({ known }: RequestFrame, { start, end }: Span): readonly number[] | undefined {
  return known?.filter((at) => at >= start && at <= end).map((at) => at - start)
}
