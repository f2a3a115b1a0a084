import type { Connection } from '../../src/jsonrpc/connection.js'
import type { Clock } from '../../src/runtime/deadline.js'
import { NdjsonConnection, type NdjsonOptions } from '../../src/transports/stdio/ndjson.js'
import { type SimContext, ReadableEnd, WritableEnd } from './byte-flow.js'
import type { ClientInbox } from './client-inbox.js'
import type { ClientWire, Said } from './client.js'
import type { ClientPlan } from './plan.js'

export class StdioWire implements ClientWire {
  readonly hears = true
  readonly lines: readonly [this] = [this]
  readonly connection: Connection
  readonly #input: ReadableEnd
  readonly #output: WritableEnd

  constructor(
    context: SimContext,
    plan: ClientPlan,
    inbox: ClientInbox,
    proxy: { readonly ndjson: NdjsonOptions; readonly timers: Clock },
  ) {
    this.#input = new ReadableEnd(context, `${plan.name}>`, plan.input)
    this.#output = new WritableEnd(context, `${plan.name}<`, plan.output, {
      bytes: (chunk) => inbox.hear(chunk),
      end: () => inbox.gone(),
    })
    context.wrong.stream?.(this.#input.stream)
    const { ndjson, timers } = proxy
    this.connection = new NdjsonConnection(this.#input.stream, this.#output.stream, ndjson, timers)
  }

  get speaks(): boolean {
    return !this.#input.flow.ending
  }

  get backlogBytes(): number {
    return this.connection.backlogBytes
  }

  get released(): boolean {
    return this.#input.stream.destroyed && this.#output.stream.destroyed
  }

  send({ text, read, arrives }: Said): void {
    this.#input.add(Buffer.from(`${text}\n`), read, arrives)
  }

  taken(): number | undefined {
    return this.backlogBytes === 0 ? this.#output.taken : undefined
  }

  read(on: boolean): void {
    this.#output.flow.open(on)
  }

  finish(): void {
    this.#input.flow.end()
  }

  vanish(): void {
    this.#input.flow.end()
    this.#output.break()
  }

  /** The client has only one connection, so losing it would end everything. */
  cut(): void {}
}
