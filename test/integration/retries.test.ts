// Requests that are sent again when a server ends before its answer, and calls, which never are.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import type { FakeChild } from '../upstream/support/fake-runtime.js'
import { type RawClient, failure } from './support/client.js'
import { textAt } from './support/json.js'
import { type Scripted, enter, handshake, scripted, timed } from './support/scripted.js'
import type { Scope } from './support/spawned.js'

const offered = '{"tools":{},"prompts":{},"resources":{},"completions":{}}'

/** The answers of a server, by the number of its start. */
const answers: Readonly<Record<string, (start: number) => string>> = {
  initialize: () => handshake('s', offered),
  'tools/list': () => '{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}',
  'prompts/list': () => '{"prompts":[{"name":"p"}]}',
  'resources/list': () => '{"resources":[{"uri":"it://r","name":"r"}]}',
  'resources/templates/list': () => '{"resourceTemplates":[]}',
  'tools/call': (start) => `{"content":[{"type":"text","text":"start ${start}"}]}`,
  'resources/read': (start) => `{"contents":[{"uri":"it://r","text":"start ${start}"}]}`,
  'prompts/get': (start) =>
    `{"messages":[{"role":"user","content":{"type":"text","text":"start ${start}"}}]}`,
  'completion/complete': (start) => `{"completion":{"values":["start ${start}"]}}`,
}

/** A client of a server whose first processes end when this method comes. */
async function mortal(
  t: Scope,
  mortalMethod: string,
  deaths: number,
): Promise<{ readonly it: Scripted; readonly client: RawClient; readonly asked: () => number }> {
  const starts: FakeChild[] = []
  const it = await scripted(t, { s: { restartDelay: 1 } }, (method, child) => {
    if (!starts.includes(child)) starts.push(child)
    const start = starts.indexOf(child)
    if (method !== mortalMethod || start >= deaths) return answers[method]?.(start) ?? '{}'
    child.end(4)
    return undefined
  })
  const { client } = await enter(it)
  const asked = (): number =>
    it.runtime.children.flatMap(({ heard }) => heard).filter((method) => method === mortalMethod).length
  return { it, client, asked }
}

const reads: readonly (readonly [string, object, (value: unknown) => string])[] = [
  ['resources/read', { uri: 'it://r' }, (value) => textAt(value, 'result', 'contents', 0, 'text')],
  ['prompts/get', { name: 's__p' }, (value) => textAt(value, 'result', 'messages', 0, 'content', 'text')],
  [
    'completion/complete',
    { ref: { type: 'ref/prompt', name: 's__p' }, argument: { name: 'a', value: '' } },
    (value) => textAt(value, 'result', 'completion', 'values', 0),
  ],
]

describe('a server that ends before its answer', () => {
  for (const [method, params, textOf] of reads) {
    test(`is asked again for ${method}, once`, async (t) => {
      const { it, client, asked } = await mortal(t, method, 1)
      const { heard } = await timed(it, client.request(method, params, 'read'))
      assert.equal(textOf(heard.value), 'start 1', heard.text)
      assert.equal(client.answersTo('read'), 1)
      assert.equal(asked(), 2)
    })
  }

  test('is never asked again for a call of a tool', async (t) => {
    const { it, client, asked } = await mortal(t, 'tools/call', 1)
    assert.deepEqual(failure((await timed(it, client.call('s__t'))).heard), [-32603, 's', 'exited'])
    assert.match((await timed(it, client.call('s__t'))).heard.text, /"start 1"/)
    assert.equal(asked(), 2)
  })
})
