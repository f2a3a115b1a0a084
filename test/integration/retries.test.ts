// What is asked again when a server ends before its answer, and what never is.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { failure, said } from './support/client.js'
import { numberAt, textAt } from './support/json.js'
import { libraryProxy } from './support/library.js'
import { phases } from './support/phases.js'

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
      const s = phases(t, [{ dies: [method] }, {}], { restartDelay: 1 })
      const { client } = await (await libraryProxy(t, { s: s.entry })).attach()
      await client.open()
      const heard = await client.request(method, params, 'read')
      assert.equal(textOf(heard.value), 'start 1', heard.text)
      assert.equal(client.answersTo('read'), 1)
      assert.equal(s.told(method).length, 2)
    })
  }

  test('twice for the same read is an error', async (t) => {
    const s = phases(t, [{ dies: ['resources/read'] }, { dies: ['resources/read'] }, {}], { restartDelay: 1 })
    const { client } = await (await libraryProxy(t, { s: s.entry })).attach()
    await client.open()
    const heard = await client.request('resources/read', { uri: 'it://r' })
    assert.deepEqual(failure(heard), [-32603, 's', 'exited'])
    assert.equal(s.told('resources/read').length, 2)
  })

  test('is never asked again for a call of a tool', async (t) => {
    const s = phases(t, [{ dies: ['tools/call'] }, {}], { restartDelay: 1 })
    const { client } = await (await libraryProxy(t, { s: s.entry })).attach()
    await client.open()
    assert.deepEqual(failure(await client.call('s__which')), [-32603, 's', 'exited'])
    assert.equal(numberAt(said(await client.call('s__which')), 'start'), 1)
    assert.equal(s.told('tools/call').length, 2)
  })
})
