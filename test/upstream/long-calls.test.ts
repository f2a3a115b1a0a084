import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { failure } from '../integration/support/client.js'
import { at, textAt } from '../integration/support/json.js'
import type { ServerEntry } from '../integration/support/programs.js'
import type { Scope } from '../integration/support/spawned.js'
import { type Script, settled, mute } from './support/fake-runtime.js'
import { served } from './support/served.js'

const stateless: Script = (method) => {
  switch (method) {
    case 'server/discover':
      return '{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"serverInfo":{"name":"f","version":"1"}}'
    case 'tools/list':
      return '{"resultType":"complete","tools":[{"name":"t","inputSchema":{"type":"object"}}],"ttlMs":0,"cacheScope":"private"}'
    default:
      return undefined
  }
}

async function called(t: Scope, script: Script, entry: object = {}, more: ServerEntry = {}) {
  const { client, runtime } = await served(t, script, { entry, config: more })
  const [child] = runtime.children
  assert(child !== undefined)
  const calledAt = runtime.now()
  const call = client.call('s__t')
  let endedAt: number | undefined
  void call.then(() => (endedAt = runtime.now()))
  await settled()
  const id = child.lastId
  return {
    runtime,
    child,
    client,
    call,
    took: () => (endedAt === undefined ? undefined : endedAt - calledAt),
    answer: () => child.say(`{"jsonrpc":"2.0","id":${id},"result":{"resultType":"complete","content":[]}}`),
    questions: () => child.heard.filter((method) => method === 'ping' || method === 'server/discover').length,
  }
}

describe('a call that takes longer than the default limit', () => {
  const servers: readonly (readonly [string, Script, object])[] = [
    ['a server with sessions', mute, { protocol: 'legacy' }],
    ['a server without sessions', stateless, { protocol: '2026-07-28' }],
  ]
  for (const [title, script, entry] of servers)
    test(`goes on while ${title} answers another request each 30 s`, async (t) => {
      const run = await called(t, script, entry)
      const before = run.questions()
      await run.runtime.pass(240_000, 2500)
      assert.equal(run.took(), undefined)
      assert.equal(run.questions() - before, 8)
      run.answer()
      assert.equal(at((await run.call).value, 'error'), undefined)
    })

  test('ends when the server answers nothing within 5 s, and names the key and the file', async (t) => {
    const run = await called(t, mute, { protocol: 'legacy' })
    run.runtime.script = () => undefined
    await run.runtime.pass(40_000, 2500)
    assert.equal(run.took(), 35_000)
    const { value } = await run.call
    assert.deepEqual(failure({ value, text: '' }), [-32603, 's', 'timeout'])
    assert.equal(at(value, 'error', 'data', 'budget'), 'timeout')
    assert.match(
      textAt(value, 'error', 'message'),
      /^'s': the server is stuck: .* within 30000 ms \(timeout\); "timeout" of 's' in .+ sets it$/,
    )
  })

  test('ends when its total time is over', async (t) => {
    const run = await called(t, mute, { protocol: 'legacy' })
    await run.runtime.pass(600_000, 2500)
    assert.equal(run.took(), 600_000)
    assert.equal(at((await run.call).value, 'error', 'data', 'budget'), 'totalTimeout')
  })

  test('waits for its turn as long, behind a call that goes on', async (t) => {
    const run = await called(t, mute, { protocol: 'legacy', concurrency: 1 })
    const next = run.client.call('s__t')
    await run.runtime.pass(100_000, 2500)
    run.answer()
    while (run.child.heard.filter((method) => method === 'tools/call').length < 2) await settled()
    run.child.say(`{"jsonrpc":"2.0","id":${run.child.lastId},"result":{"content":[]}}`)
    assert.equal(at((await next).value, 'error'), undefined)
  })
})

const cases: readonly (readonly [string, object, ServerEntry])[] = [
  ['timeout of the server', { timeout: 30_000 }, {}],
  ['cli.stdio.timeout', {}, { cli: { stdio: { timeout: 30_000 } } }],
]
for (const [title, entry, more] of cases)
  test(`a limit that is written ends the call: ${title}`, async (t) => {
    const run = await called(t, mute, { protocol: 'legacy', ...entry }, more)
    const before = run.questions()
    await run.runtime.pass(40_000, 2500)
    assert.equal(run.took(), 30_000)
    assert.equal(run.questions(), before)
    const message = textAt((await run.call).value, 'error', 'message')
    assert.equal(message, "'s': no answer or progress for tool 's__t' within 30000 ms (timeout)")
  })
