// Binds the `requestState` of a server to that server, to one principal and to one request.
//
// MCP 2026-07-28, Multi Round-Trip Requests: the state passes through the client, which may give it to
// another client. A proxy with several principals prefixes the state with a MAC, and removes the MAC from the
// retry. With one principal the state passes unchanged.

import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Span } from '../../jsonrpc/scan.js'
import type { Edit } from '../../jsonrpc/splice.js'
import { rawAt, write } from '../../jsonrpc/text.js'
import type { Call, ReturnedInput } from '../../calls/call.js'
import { ownStateOf } from '../../mcp/instance-label.js'
import { insertion } from '../../mcp/member-edits.js'
import type { Runtime } from '../../runtime/runtime.js'

/** Returns bytes that cannot be guessed, in base64url. */
export function secretBytes({ secret = randomBytes }: Pick<Runtime, 'secret'>, bytes: number): string {
  return secret(bytes).toString('base64url')
}

const STATE_BYTES = 16

/** A state that cannot be guessed, for a call that waits in this instance; `label` is the name of the instance. */
export function newOwnState(runtime: Pick<Runtime, 'secret'>, label?: string): string {
  return ownStateOf(label, secretBytes(runtime, STATE_BYTES))
}

const KEY_BYTES = 32
const MAC_BYTES = 16
const PREFIX = 'mac.'
/** Characters in base64url. */
const MAC_LENGTH = 22

/** Signs with the first key, and accepts the MAC of every key. */
export class StateMac {
  readonly #keys: () => readonly string[]
  readonly #schema: string

  /** `keys` returns the keys of the configuration in force. If there are none, the proxy uses a random key. */
  constructor(keys: () => readonly string[], schema: string, runtime: Pick<Runtime, 'secret'>) {
    const ownKeys = [secretBytes(runtime, KEY_BYTES)]
    this.#keys = () => (keys().length > 0 ? keys() : ownKeys)
    this.#schema = schema
  }

  /** The edit that signs the state of a server at `span`; `state` is the decoded text. */
  sign(call: Call, service: string, state: string, span: Span): readonly Edit[] {
    const [key = ''] = this.#keys()
    return [insertion(span.start + 1, `${PREFIX}${this.#mac(key, call, service, state)}.`, 'request-state')]
  }

  /**
   * Returns the server that wrote the state, and the edit that removes the MAC; undefined if the state
   * belongs to another server, request or principal.
   */
  verify(call: Call, services: readonly string[], state: string, span: Span): ReturnedInput | undefined {
    const length = PREFIX.length + MAC_LENGTH + 1
    const mac = Buffer.from(state.slice(PREFIX.length, length - 1))
    const service = services.find((name) =>
      this.#keys().some((key) => {
        const wanted = Buffer.from(this.#mac(key, call, name, state.slice(length)))
        return wanted.length === mac.length && timingSafeEqual(wanted, mac)
      }),
    )
    // A client that spells the prefix with escapes has not sent the state back unchanged.
    const written = { start: span.start + 1, end: span.start + 1 + length }
    const isAsWritten = rawAt(call.frame.line, written) === state.slice(0, length)
    if (service === undefined || !isAsWritten) return undefined
    return { service, edits: [{ ...written, bytes: Buffer.alloc(0), why: 'request-state' }] }
  }

  #mac(key: string, call: Call, service: string, state: string): string {
    const { principal, method, target } = bindingOf(call)
    const text = write([this.#schema, service, principal, method, target, state])
    return createHmac('sha256', key).update(text).digest().subarray(0, MAC_BYTES).toString('base64url')
  }
}

/** The request to which a state belongs. Its target is the name of the tool or prompt, or the URI of the resource. */
export function bindingOf({ frame, row, context }: Call): Record<'principal' | 'method' | 'target', string> {
  const target = frame.params.members.string(row.route.to === 'uri' ? 'uri' : 'name') ?? ''
  return { principal: context.principal ?? '', method: frame.method, target }
}
