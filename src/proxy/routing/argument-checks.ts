// Checks a call's arguments against the tool's own schema, and makes the error.
//
// Calls reach a server in the order in which they came, though one may have to wait until its tool's schema is compiled
// and the next has nothing to wait for.

import { OPEN_OBJECT } from '../../jsonrpc/ascii.js'
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

/** Gives a call to its lane when its turn has come. */
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

  /** Compiles a first schema, which is most of what the first check takes, while no call waits for it. */
  prepare(runtime: Pick<Runtime, 'setTimer'>): void {
    if (this.#isPrepared) return
    this.#isPrepared = true
    runtime.setTimer(PREPARE_DELAY_MS, () => {
      void prepareValidators()
    })
  }

  /** Passes a call of a tool on when its arguments fit, which is nearly always known at once; else the call is settled. */
  check(call: Call, target: Target, edits: readonly Edit[], pass: Pass): void {
    const { frame } = call
    const span = frame.params.members.span('arguments')
    const first = span && frame.line[span.start]
    const isObject = first === OPEN_OBJECT
    // Servers in Python take null for no arguments.
    if (first !== undefined && !isObject && first !== NULL)
      return call.fail(invalidParams("'arguments' must be object", { parameter: 'arguments' }))
    const json = isObject ? span && frame.line.subarray(span.start, span.end) : undefined
    const isChecked = target.lane.config.argumentChecks === 'on'
    const fault = isChecked ? this.#fault(target, json) : undefined
    this.inTurn(call, target.lane, edits, pass, fault)
  }

  /** Passes a call on unless it has a fault, behind the calls of its lane whose arguments are being checked. */
  inTurn(
    call: Call,
    lane: CallTarget,
    edits: readonly Edit[],
    pass: Pass,
    fault?: Fault | Promise<Fault>,
  ): void {
    const before = this.#last.get(lane)
    if (before === undefined && fault === undefined) return pass(call, lane, edits)
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

  #fault(target: Target, json: Buffer | undefined): Fault | Promise<Fault> {
    const { schemaSpan } = target.item
    if (schemaSpan === undefined) return undefined
    const validator = this.#validators.get(target.item) ?? this.#newValidator(target, schemaSpan)
    return validator.check(json)
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
