// Servers without sessions whose answers their revision does not allow.

import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { codeOf, forms } from './support/asking.js'
import { claim } from './support/claim.js'
import { listAt, textAt } from './support/json.js'
import { type Act, type Scripted, closed, scripted, stateless, timed } from './support/scripted.js'
import type { Scope } from './support/spawned.js'

const done = '{"resultType":"complete","content":[{"type":"text","text":"done"}]}'
const form = '{"method":"elicitation/create","params":{"message":"?","requestedSchema":{}}}'

interface Stage {
  readonly it: Scripted
  readonly call: (params?: object) => Promise<unknown>
  calls: number
}

/** A server that answers calls so, or with an error. */
async function stage(t: Scope, answer: () => ReturnType<Act>): Promise<Stage> {
  const act = stateless(() => {
    made.calls++
    return answer()
  }, '{"tools":{}}')
  const it = await scripted(t, { s: { argumentChecks: 'off', protocol: '2026-07-28' } }, act)
  const { client } = await it.attach()
  const made: Stage = {
    it,
    calls: 0,
    call: async (params = {}) => {
      const asked = client.request('tools/call', { name: 's__t', ...params, _meta: claim(forms) })
      return (await timed(it, asked)).heard.value
    },
  }
  return made
}

const textOf = (value: unknown): string => textAt(listAt(value, 'result', 'content')[0], 'text')

test('errors about the connection reach no client, and the call is made twice at most', async (t) => {
  for (const [code, want] of [
    [-32020, -32603],
    [-32022, -32603],
    [-32042, -32603],
    [-32099, -32603],
    [-32021, -32021],
  ] as const) {
    const error = `{"code":-1,"code":${code},"message":"m","data":{"supported":["2025-11-25"]}}`
    for (const written of [error, error.replace('"code":-1,', '')]) {
      const it = await stage(t, () => ({ error: written }))
      assert.equal(codeOf(await it.call()), want)
      assert(it.calls <= 2, `${it.calls} calls`)
      await closed(it.it)
    }
  }
})

test('a state of a megabyte goes to its client and back', async (t) => {
  const own = 's'.repeat(1024 * 1024)
  let asked = 0
  const { it, call } = await stage(t, () =>
    ++asked > 1
      ? done
      : `{"resultType":"input_required","inputRequests":{"q":${form}},"requestState":"${own}"}`,
  )
  const requestState = textAt(await call(), 'result', 'requestState')
  assert(requestState.endsWith(own))
  assert.equal(textOf(await call({ requestState })), 'done')
  await closed(it)
})
