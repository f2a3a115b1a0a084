import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { textAt } from '../integration/support/json.js'
import { FakeRuntime, type Script, polite, settled } from './support/fake-runtime.js'
import { served } from './support/served.js'

const changed = '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'
const listOf = (name: string): string => `{"tools":[{"name":"${name}","inputSchema":{"type":"object"}}]}`

/** How many reads follow in the first 100 ms after each report, and afterwards until `untilMs`. */
const cases: readonly (readonly [title: string, isNew: boolean, reads: readonly number[], later: number])[] =
  [
    ['whose list is another one is read each time', true, [1, 1, 1], 0],
    ['whose list stays the same is read after a pause', false, [1, 0, 0], 1],
  ]

for (const [title, isNew, wanted, later] of cases)
  test(`a server ${title}`, async (t) => {
    const runtime = new FakeRuntime()
    let reads = 0
    const script: Script = (method, params, child) => {
      if (method !== 'tools/list') return polite(method, params, child)
      reads++
      return listOf(isNew ? `t${reads}` : 't')
    }
    const { client } = await served(t, script, { runtime })
    void client.request('tools/list')
    await settled()
    const got: number[] = []
    for (const _ of wanted) {
      const before = reads
      runtime.children[0]?.say(changed)
      await runtime.pass(100, 10)
      got.push(reads - before)
    }
    assert.deepEqual(got, wanted)
    const before = reads
    await runtime.pass(1000, 10)
    assert.equal(reads - before, later)
  })

test('a server that reports a change whenever its list is read is read less and less often', async (t) => {
  const runtime = new FakeRuntime()
  let reads = 0
  const script: Script = (method, params, child) => {
    if (method !== 'tools/list') return polite(method, params, child)
    reads++
    child.say(changed)
    return listOf('t')
  }
  const { client } = await served(t, script, { runtime })
  void client.request('tools/list')
  await settled()
  await runtime.pass(60_000, 100)
  assert(reads >= 6 && reads <= 10, String(reads))
})

test('a list that fails is read again a second later, however many reports changed nothing before', async (t) => {
  const runtime = new FakeRuntime()
  let isFailing = false
  let name = 't'
  const script: Script = (method, params, child) => {
    if (method !== 'tools/list' || !isFailing)
      return method === 'tools/list' ? listOf(name) : polite(method, params, child)
    child.say(`{"jsonrpc":"2.0","id":${child.lastId},"error":{"code":-32603,"message":"not now"}}`)
    return undefined
  }
  const { client } = await served(t, script, { runtime })
  void client.request('tools/list')
  for (let count = 0; count < 13; count++) {
    runtime.children[0]?.say(changed)
    await runtime.pass(31_000)
  }
  isFailing = true
  runtime.children[0]?.say(changed)
  await settled()
  isFailing = false
  name = 'new'
  await runtime.pass(1000, 100)
  const { value } = await client.request('tools/list')
  assert.equal(textAt(value, 'result', 'tools', 0, 'name'), 's__new')
})
