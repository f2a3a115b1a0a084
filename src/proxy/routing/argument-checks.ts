// Checks the arguments of a call against the tool's schema, and builds the error.

import { OPEN_OBJECT } from '../../jsonrpc/ascii.js'
import { type Call, toolFailure } from '../../calls/call.js'
import { invalidArguments, invalidParams } from '../../mcp/error-codes.js'
import type { ListItem } from '../../mcp/list-items.js'
import {
  type ArgumentFault,
  ArgumentValidator,
  prepareValidators,
} from '../../mcp/arguments/argument-validator.js'
import type { LogSink, Runtime } from '../../runtime/runtime.js'
import type { Target } from './catalog.js'

/** Within this delay, the first requests of a session are answered. */
const PREPARE_DELAY_MS = 5

/** The first byte of the JSON `null`; no other JSON value begins with it. */
const NULL = 0x6e

/** The validators of tools, compiled when a tool is first called. */
export class ArgumentChecks {
  readonly #validators = new WeakMap<ListItem, ArgumentValidator>()
  readonly #log: LogSink
  #isPrepared = false

  constructor(log: LogSink) {
    this.#log = log
  }

  /** Compiles a first schema while no call waits, because that is most of the time of the first check. */
  prepare(runtime: Pick<Runtime, 'setTimer'>): void {
    if (this.#isPrepared) return
    this.#isPrepared = true
    runtime.setTimer(PREPARE_DELAY_MS, prepareValidators)
  }

  /** Whether the arguments of a call fit the schema of its tool; if not, the call is settled. */
  fits(call: Call, target: Target): boolean {
    const { frame } = call
    const span = frame.params.members.span('arguments')
    const first = span && frame.line[span.start]
    const isObject = first === OPEN_OBJECT
    // Servers in Python accept null in place of no arguments.
    if (first !== undefined && !isObject && first !== NULL)
      call.fail(invalidParams("'arguments' must be object", { parameter: 'arguments' }))
    else if (target.lane.config.argumentChecks === 'on') {
      const json = isObject ? span && frame.line.subarray(span.start, span.end) : undefined
      const fault = this.#fault(target, json)
      if (fault !== undefined) refuse(call, fault)
    }
    return !call.isSettled
  }

  #fault({ item, lane, publicName }: Target, json: Buffer | undefined): ArgumentFault | undefined {
    const { line, schemaSpan } = item
    if (schemaSpan === undefined) return undefined
    let validator = this.#validators.get(item)
    if (validator === undefined) {
      const schema = line.subarray(schemaSpan.start, schemaSpan.end)
      const warn = (message: string): void => this.#log({ level: 'warn', service: lane.config.name, message })
      validator = new ArgumentValidator({ tool: publicName, schema, warn })
      this.#validators.set(item, validator)
    }
    return validator.check(json)
  }
}

function refuse(call: Call, fault: ArgumentFault): void {
  const { message, parameter, details } = fault
  if (call.context.revision.argumentErrors === 'protocol')
    return call.fail(invalidArguments(message, { parameter, ...details }))
  call.settle({ kind: 'result', result: toolFailure(message), refusal: message })
}
