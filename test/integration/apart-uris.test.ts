// Two servers list different apps under one `ui://` address: a client gets the app of the tool that it called.

import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { at, listAt } from './support/json.js'
import { type Act, enter, handshake, scripted, toolChanges } from './support/scripted.js'

const page = 'ui://app/page.html'
const apart = 'ui://b/app/page.html'

const app: Act = (method, { command }, params) => {
  switch (method) {
    case 'initialize':
      return handshake(command, '{"tools":{},"resources":{}}')
    case 'tools/list':
      return `{"tools":[{"name":"t","inputSchema":{"type":"object"},"_meta":{"ui":{"resourceUri":"${page}"},"ui/resourceUri" : "ui:\\/\\/app\\/page.html"}}]}`
    case 'resources/list':
      return `{"resources":[{"uri":"${page}","name":"p"},{"uri":"file:///same","name":"f"}]}`
    case 'tools/call':
      return `{"content":[{"type":"resource_link","uri":"${page}","name":"p"},{"type":"text","text":"\\"uri\\":\\"${page}\\""}]}`
    default:
      return `{"contents":[{"uri":"${String(at(params, 'uri'))}","text":"of ${command}"}]}`
  }
}

const late: Act = (method, child, params) => {
  const result = app(method, child, params)
  const isLate = method === 'resources/list' && child.command === 'b' && typeof result === 'string'
  return isLate ? { afterMs: 5000, result } : result
}

test('the address of an app of two servers leads to the server whose tool names it', async (t) => {
  const proxy = await scripted(t, { a: {}, b: {} }, app)
  const { client } = await enter(proxy)
  const tools = await client.request('tools/list')
  const meta = (index: number): unknown => at(tools.value, 'result', 'tools', index, '_meta')
  assert.deepEqual(meta(0), { ui: { resourceUri: page }, 'ui/resourceUri': page })
  assert.deepEqual(meta(1), { ui: { resourceUri: apart }, 'ui/resourceUri': apart })
  const resources = listAt(await client.request('resources/list'), 'value', 'result', 'resources')
  const uris = resources.map((each) => at(each, 'uri'))
  assert.deepEqual(uris, [page, 'file:///same', apart])
  for (const [uri, name] of [
    [page, 'a'],
    [apart, 'b'],
  ] as const) {
    const read = await client.request('resources/read', { uri })
    assert.deepEqual(at(read.value, 'result', 'contents', 0), { uri, text: `of ${name}` })
    const called = await client.call(`${name}__t`)
    assert.equal(at(called.value, 'result', 'content', 0, 'uri'), uri)
    assert.equal(at(called.value, 'result', 'content', 1, 'text'), `"uri":"${page}"`)
  }
})

test('an app of two servers changes the list of a client before the second one has listed', async (t) => {
  const it = await scripted(t, { a: {}, b: {} }, late)
  const party = await enter(it)
  const listed = async (): Promise<unknown> =>
    at((await party.client.request('tools/list')).value, 'result', 'tools', 1, '_meta', 'ui', 'resourceUri')
  assert.equal(await listed(), page)
  await it.runtime.pass(6000)
  assert.equal(toolChanges(party), 1)
  assert.equal(await listed(), apart)
})
