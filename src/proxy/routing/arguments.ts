// Checks a call's arguments against the tool's own schema, and makes the error.

import { OPEN_OBJECT } from '../../jsonrpc/ascii.js'
import type { RequestFrame } from '../../jsonrpc/frame.js'
import { LongValue, type RawValue, firstByte } from '../../jsonrpc/fast/long-value.js'
import type { Span } from '../../jsonrpc/scan.js'
import { quote } from '../../jsonrpc/text.js'
import type { Call } from '../../mcp/call.js'
import { invalidArguments, invalidParams } from '../../mcp/error-codes.js'
import type { ListItem } from '../../mcp/lists.js'
import type { ArgumentFault, ArgumentValidator } from '../../mcp/validate.js'
import type { LogSink, Runtime } from '../../runtime/runtime.js'
import type { Target } from './catalog.js'
import { CallOrder } from './call-order.js'

/** What a client asks for when it opens its session is answered first. */
const PREPARE_DELAY_MS = 5

/** With which the JSON of null begins, and no other. */
const NULL = 0x6e

type MakeValidator = (target: Target, schema: Span) => ArgumentValidator

/** The validators of tools, compiled when a tool is first called. */
export class ArgumentChecks {
  /** In which calls leave that are checked, and those that have nothing to check. */
  readonly turns: CallOrder = new CallOrder()
  readonly #validators = new WeakMap<ListItem, ArgumentValidator>()
  readonly #log: LogSink
  #make: MakeValidator | undefined
  #isPrepared = false

  constructor(log: LogSink) {
    this.#log = log
  }

  /**
   * Loads what checks arguments while nobody waits for it; a call that comes meanwhile waits for the same load.
   *
   * Once a client may call one of these tools: nothing is loaded for a start that calls none.
   */
  prepare(tools: Iterable<Pick<ListItem, 'schemaSpan'>>, runtime: Pick<Runtime, 'setTimer'>): void {
    if (this.#isPrepared) return
    for (const { schemaSpan } of tools) {
      if (schemaSpan === undefined) continue
      this.#isPrepared = true
      runtime.setTimer(PREPARE_DELAY_MS, () => void prepareValidators())
      return
    }
  }

  /** Calls `pass` in the call's turn when the arguments fit, nearly always at once; else settles the call. */
  check(call: Call, target: Target, pass: () => void): void {
    const { argumentErrors: mode, argumentChecks } = target.lane.config
    const isLenient = argumentChecks === 'lenient'
    const span = call.frame.params.members.span('arguments')
    const written = span === undefined ? undefined : jsonAt(call.frame, span)
    // Servers in Python take null for no arguments.
    const json = isLenient && written !== undefined && firstByte(written) === NULL ? undefined : written
    if (json !== undefined && firstByte(json) !== OPEN_OBJECT) {
      return call.fail(invalidParams("'arguments' must be object", { parameter: 'arguments' }))
    }
    const verdict = mode === 'off' ? undefined : this.#verdict(target, json, isLenient)
    this.turns.take(call, target.lane, verdict, (fault) => {
      if (fault === undefined) pass()
      else this.#refuse(call, mode, fault)
    })
  }

  #refuse(call: Call, mode: string, fault: ArgumentFault): void {
    const say = mode === 'auto' ? call.context.revision.argumentErrors : mode
    if (say === 'protocol')
      return call.fail(invalidArguments(fault.message, { parameter: fault.parameter, ...fault.details }))
    const content = `{"content":[{"type":"text","text":${quote(fault.message)}}],"isError":true}`
    call.settle({ kind: 'result', result: content, refusal: fault.message })
  }

  /** Nearly always at once: only the first call waits for the validator, and each tool's first for its schema. */
  #verdict(
    target: Target,
    json: RawValue | undefined,
    isLenient: boolean,
  ): ArgumentFault | undefined | Promise<ArgumentFault | undefined> {
    const { schemaSpan } = target.item
    if (schemaSpan === undefined) return undefined
    const known = this.#validators.get(target.item)
    if (known !== undefined) return known.check(json, isLenient)
    if (this.#make !== undefined) return this.#make(target, schemaSpan).check(json, isLenient)
    return this.#load().then((make) => make(target, schemaSpan).check(json, isLenient))
  }

  /** The validator is not part of a start: nobody has called a tool then. */
  async #load(): Promise<MakeValidator> {
    const { ArgumentValidator: Validator } = await import('../../mcp/validate.js')
    this.#make ??= ({ item, lane, publicName }, { start, end }) => {
      const known = this.#validators.get(item)
      if (known !== undefined) return known
      const validator = new Validator({
        tool: publicName,
        schema: item.line.subarray(start, end),
        warn: (message) => this.#log({ level: 'warn', service: lane.config.name, message }),
      })
      this.#validators.set(item, validator)
      return validator
    }
    return this.#make
  }
}

function jsonAt(frame: RequestFrame, span: Span): RawValue {
  const { long } = frame
  return long === undefined ? frame.line.subarray(span.start, span.end) : new LongValue(long, span)
}

/** A call says what is wrong where this fails. */
async function prepareValidators(): Promise<void> {
  try {
    const { prepareValidators: prepareAll } = await import('../../mcp/validate.js')
    await prepareAll()
  } catch {}
}
