// A server that asks during a call, and a client without a session, in simulated time.

import { strict as assert } from 'node:assert'
import type { FakeChild } from '../../upstream/support/fake-runtime.js'
import type { RawClient } from './client.js'
import { at, listAt, numberAt, textAt } from './json.js'
import type { Attached } from './library.js'
import type { ServerEntry } from './programs.js'
import { type Act, type Scripted, type ScriptedOptions, scripted, simple } from './scripted.js'
import type { Scope } from './spawned.js'
import { claim } from './claim.js'

export const forms: object = { elicitation: {} }
export const accepted: object = { action: 'accept', content: { name: 'x' } }
export const question = (method: string, params: object): string => JSON.stringify({ method, params })
export const elicitation: string = question('elicitation/create', { message: '?', requestedSchema: {} })

/** A server that asks questions in each call, round by round, and keeps the answers. */
export class Asking {
  readonly calls: unknown[] = []
  readonly answers: unknown[] = []
  /** The questions of each round: requests without ids. */
  rounds: readonly (readonly string[])[] = [[elicitation]]
  /** Errors with which it refuses its next calls. */
  readonly refusals: string[] = []
  /** The result of a call. */
  result = '{"content":[{"type":"text","text":"done"}]}'
  /** Whether it answers once it has been answered. */
  finishes = true
  child: FakeChild | undefined
  #call = ''

  readonly act: Act = (method, child) => {
    if (method === 'initialize')
      return '{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"resources":{}},"serverInfo":{"name":"s","version":"1"}}'
    if (method === 'resources/list') return '{"resources":[{"uri":"it://r","name":"r"}]}'
    if (method !== 'tools/call' && method !== 'resources/read') return simple(method, child)
    const refusal = this.refusals.shift()
    if (refusal !== undefined) return { error: refusal }
    this.child = child
    this.#call = child.lastId
    this.calls.push(method)
    this.#ask(0, child, child.lastId)
    return undefined
  }

  #ask(round: number, child: FakeChild, call: string): void {
    const asked = this.rounds[round]
    if (asked === undefined) return void (this.finishes && this.finish(child, call))
    let open = asked.length
    asked.forEach((each, index) => this.say(`${each.slice(0, -1)},"id":"q${round}.${index}"}`, child))
    child.answered = (message) => {
      this.answers.push(message)
      if (--open === 0) this.#ask(round + 1, child, call)
    }
  }

  /** Answers the last call, or another one. */
  finish(child: FakeChild | undefined = this.child, call: string = this.#call): void {
    this.say(`{"id":${call},"result":${this.result}}`, child)
  }

  say(message: string, child: FakeChild | undefined = this.child): void {
    child?.say(`{"jsonrpc":"2.0",${message.slice(1)}`)
  }
}

export interface Stage {
  readonly it: Scripted
  readonly server: Asking
  readonly party: Attached
  readonly client: RawClient
  /** Sends one request, and lets time pass until its answer. */
  readonly ask: (
    params: object,
    options?: { method?: string; capabilities?: object; client?: RawClient },
  ) => Promise<unknown>
  /** The first call, and the state with which to come back. */
  readonly begin: (capabilities?: object) => Promise<{ readonly asked: unknown; readonly state: string }>
}

/** Every server is the one that asks. */
export async function stage(
  t: Scope,
  prepare: (server: Asking) => void = () => {},
  servers: Readonly<Record<string, ServerEntry>> = { s: {} },
  options: ScriptedOptions = {},
): Promise<Stage> {
  const server = new Asking()
  prepare(server)
  const named = Object.entries(servers).map(([name, entry]) => [name, { argumentChecks: 'off', ...entry }])
  const it = await scripted(t, Object.fromEntries(named), server.act, options)
  const party = await it.attach()
  const { client } = party
  const ask: Stage['ask'] = async (
    params,
    { method = 'tools/call', capabilities = forms, client: by = client } = {},
  ) => {
    const came: { value?: unknown } = {}
    void by
      .request(method, { ...params, _meta: claim(capabilities) })
      .then((heard) => (came.value = heard.value))
    for (let ms = 0; came.value === undefined && ms < 2000; ms += 10) await it.runtime.pass(10, 10)
    assert.notEqual(came.value, undefined, 'it is answered')
    return came.value
  }
  const begin: Stage['begin'] = async (capabilities = forms) => {
    const asked = at(await ask({ name: 's__t' }, { capabilities }), 'result')
    assert.equal(textAt(asked, 'resultType'), 'input_required', JSON.stringify(asked))
    return { asked, state: textAt(asked, 'requestState') }
  }
  return { it, server, party, client, ask, begin }
}

export const textOf = (value: unknown): string => textAt(listAt(value, 'result', 'content')[0], 'text')
export const codeOf = (value: unknown): number => numberAt(value, 'error', 'code')
export const reasonOf = (value: unknown): string => textAt(value, 'error', 'data', 'reason')
