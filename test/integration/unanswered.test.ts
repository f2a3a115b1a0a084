// Requests that a server does not answer in time, and requests that it ends before it has answered: all but calls of tools are
// sent again.

import { strict as assert } from 'node:assert'
import { before, describe, test } from 'node:test'
import type { FakeChild } from '../upstream/support/fake-runtime.js'
import { type RawClient, failure } from './support/client.js'
import { at, textAt } from './support/json.js'
import { type Scripted, enter, handshake, scripted, timed } from './support/scripted.js'
import type { Scope } from './support/spawned.js'

/** The answers of a server, by the number of its start. */
const answers: Readonly<Record<string, (start: number) => string>> = {
  initialize: () => handshake('s', '{"tools":{},"prompts":{},"resources":{},"completions":{}}'),
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

interface Asked {
  readonly method: string
  readonly id: string
  readonly params: unknown
}

interface Stage {
  readonly it: Scripted
  readonly client: RawClient
  /** The requests of this method that the server has got, in all its starts. */
  readonly asked: (method: string) => Asked[]
}

/** A client of a server that does not answer some methods; `unanswered` may end the process. */
async function stage(
  t: Scope,
  entry: object,
  unanswered: (method: string, child: FakeChild, start: number) => boolean,
): Promise<Stage> {
  const starts: FakeChild[] = []
  const all: Asked[] = []
  const it = await scripted(t, { s: { ...entry } }, (method, child, params) => {
    if (!starts.includes(child)) starts.push(child)
    all.push({ method, id: child.lastId, params })
    const start = starts.indexOf(child)
    return unanswered(method, child, start) ? undefined : (answers[method]?.(start) ?? '{}')
  })
  const { client } = await enter(it)
  return { it, client, asked: (method) => all.filter((each) => each.method === method) }
}

/** A server whose first process ends when this method comes. */
const mortal = (t: Scope, mortalMethod: string): Promise<Stage> =>
  stage(t, { restartDelay: 1 }, (method, child, start) => {
    const ends = method === mortalMethod && start === 0
    if (ends) child.end(4)
    return ends
  })

const reads: readonly (readonly [string, object, (value: unknown) => string])[] = [
  ['resources/read', { uri: 'it://r' }, (value) => textAt(value, 'result', 'contents', 0, 'text')],
  ['prompts/get', { name: 's__p' }, (value) => textAt(value, 'result', 'messages', 0, 'content', 'text')],
  [
    'completion/complete',
    { ref: { type: 'ref/prompt', name: 's__p' }, argument: { name: 'a', value: '' } },
    (value) => textAt(value, 'result', 'completion', 'values', 0),
  ],
]

for (const [method, params, textOf] of reads)
  test(`a server that ends before its answer is asked again for ${method}, once`, async (t) => {
    const { it, client, asked } = await mortal(t, method)
    const { heard } = await timed(it, client.request(method, params, 'read'))
    assert.equal(textOf(heard.value), 'start 1', heard.text)
    assert.deepEqual([client.answersTo('read'), asked(method).length], [1, 2])
  })

test('a server that ends before its answer is never asked again for a call of a tool', async (t) => {
  const { it, client, asked } = await mortal(t, 'tools/call')
  assert.deepEqual(failure((await timed(it, client.call('s__t'))).heard), [-32603, 's', 'exited'])
  assert.match((await timed(it, client.call('s__t'))).heard.text, /"start 1"/)
  assert.equal(asked('tools/call').length, 2)
})

/** The ids of the requests that were cancelled, as the server knows them. */
const cancelled = ({ asked }: Stage): string[] =>
  asked('notifications/cancelled').map(({ params }) => JSON.stringify(at(params, 'requestId')))

describe('a server that takes too long', () => {
  // The first call would load the module otherwise, while simulated time passes.
  before(() => import('../../src/mcp/arguments/argument-validator.js'))

  test('for a list has it cancelled, and the other lists are there', async (t) => {
    const made = await stage(t, { startTimeout: 2000 }, (method) => method === 'tools/list')
    await made.it.runtime.pass(2000)
    assert.deepEqual(cancelled(made)[0], made.asked('tools/list')[0]?.id)
    assert(made.it.log.some(({ message }) => message.includes('tools/list within 2000 ms (startTimeout)')))
    const { heard } = await timed(made.it, made.client.request('prompts/list'))
    assert.deepEqual(textAt(heard.value, 'result', 'prompts', 0, 'name'), 's__p')
  })

  test('for a read has it cancelled, as a call is', async (t) => {
    const silent = ['resources/read', 'prompts/get']
    const made = await stage(t, { timeout: 150 }, (method) => silent.includes(method))
    const { it, client, asked } = made
    const read = await timed(it, client.request('resources/read', { uri: 'it://r' }))
    const got = await timed(it, client.request('prompts/get', { name: 's__p' }))
    assert.deepEqual(
      [textAt(read.heard.value, 'error', 'message'), at(read.heard.value, 'error', 'data')],
      [
        "'s': no answer or progress for resources/read within 150 ms (timeout)",
        { service: 's', reason: 'timeout', budget: 'timeout', ms: 150 },
      ],
    )
    assert.equal(textAt(got.heard.value, 'error', 'data', 'prompt'), 's__p')
    const ids = silent.flatMap(asked).map(({ id }) => id)
    assert.deepEqual(cancelled(made), ids)
  })
})
