// A server receives a call once for each consent, however clients use the states of their questions.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { forms } from '../integration/support/asking.js'
import { claim } from '../integration/support/claim.js'
import { at, textAt } from '../integration/support/json.js'
import { type Act, enter, handshake, scripted } from '../integration/support/scripted.js'
import { numRuns } from './runs.js'

interface Asked {
  readonly about: string
  readonly who: number
  readonly state: string
  isUsed: boolean
}

/** A call of a tool with an argument. With `question`, it returns an answer to an earlier question. */
const step = fc.record({
  who: fc.nat(1),
  tool: fc.constantFrom('x', 'y'),
  n: fc.nat(1),
  question: fc.option(fc.nat(5)),
  action: fc.constantFrom('accept', 'accept', 'decline'),
})

test('a server gets a call once for each consent', async (t) => {
  let got: string[] = []
  const act: Act = (method, { command }, params) => {
    if (method === 'initialize') return handshake(command)
    if (method === 'tools/list')
      return `{"tools":${JSON.stringify(['x', 'y'].map((name) => ({ name, inputSchema: { type: 'object' } })))}}`
    if (method === 'tools/call') got.push(`${textAt(params, 'name')} ${String(at(params, 'arguments', 'n'))}`)
    return '{"content":[]}'
  }
  const it = await scripted(t, { s: { confirm: ['*'] } }, act)
  await enter(it)
  const clients = await Promise.all(['p', 'q'].map((principal) => it.attach({ principal })))
  const property = fc.asyncProperty(fc.array(step, { maxLength: 24 }), async (steps) => {
    got = []
    const wanted: string[] = []
    const asked: Asked[] = []
    for (const { who, tool, n, question, action } of steps) {
      const about = `${tool} ${n}`
      const known = question === null ? undefined : asked[question]
      const answer = known && { requestState: known.state, inputResponses: { q1: { action } } }
      const params = { name: `s__${tool}`, arguments: { n }, ...answer, _meta: claim(forms) }
      const heard = await it.runtime.until(
        clients[who]?.client.request('tools/call', params) ?? assert.fail(),
      )
      const state = textAt(heard.value, 'result', 'requestState')
      if (state !== '') asked.push({ about, who, state, isUsed: false })
      if (known?.who !== who || known.about !== about || known.isUsed) continue
      known.isUsed = true
      if (action === 'accept') wanted.push(about)
    }
    assert.deepEqual(got, wanted)
    // All questions expire before the next run.
    await it.runtime.pass(301_000, 301_000)
  })
  await fc.assert(property, { numRuns: numRuns(60) })
})
