// What is asked again when a server ends before its answer, and what never is.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { type Heard, failure, said } from './support/client.js'
import { at, listAt, numberAt, parsed, textAt } from './support/json.js'
import { libraryProxy } from './support/library.js'
import { phases } from './support/phases.js'
import { itServer } from './support/programs.js'
import { enter, handshake, scripted, simple, timed } from './support/scripted.js'

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

  test('within the deadline that the read had', async (t) => {
    let asked = 0
    const it = await scripted(t, { s: { restartDelay: 1, timeout: 1500 } }, (method, child) => {
      if (method === 'initialize') return handshake(child.command, '{"resources":{}}')
      if (method === 'resources/list') return '{"resources":[{"uri":"it://r","name":"r"}]}'
      if (method !== 'resources/read') return simple(method, child)
      asked += 1
      if (asked === 1) it.runtime.setTimer(1000, () => child.end(3))
      return undefined
    })
    const { client } = await enter(it)
    const { heard, ms } = await timed(it, client.request('resources/read', { uri: 'it://r' }))
    assert.deepEqual(failure(heard), [-32603, 's', 'timeout'])
    assert.deepEqual([ms, asked], [1500, 2])
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

describe('calls that have not left', { skip: process.platform === 'win32' }, () => {
  test('go to the next process, and those that may have left do not', async (t) => {
    const { client } = await (
      await libraryProxy(t, { s: itServer({}, { restartDelay: 1, concurrency: 1000 }) })
    ).attach()
    await client.open()
    const pid = numberAt(said(await client.call('s__nonce', { n: 'x' })), 'pid')
    process.kill(pid, 'SIGSTOP')
    // More than any pipe holds, and less than what makes the proxy wait.
    const filler = 'z'.repeat(1000)
    const burst = (from: number): Promise<Heard>[] =>
      Array.from({ length: 350 }, (_, i) => client.call('s__nonce', { n: String(from + i), filler }))
    const calls = burst(0)
    // Answered by the proxy itself, when the calls before it are on their way.
    await client.request('ping')
    await turn()
    calls.push(...burst(1000))
    await client.request('ping')
    process.kill(pid, 'SIGKILL')
    const answers = await Promise.all(calls)
    const served = answers.filter(({ value }) => at(value, 'result') !== undefined)
    const failed = answers.filter(({ value }) => at(value, 'error') !== undefined)
    for (const heard of failed) assert.deepEqual(failure(heard), [-32603, 's', 'exited'])
    assert(failed.length > 0 && served.length > 0, `${failed.length} failed, ${served.length} served`)
    assert(served.every((heard) => numberAt(said(heard), 'pid') !== pid))
    // Once each, and in order: whatever left first is gone, the rest follows.
    const lines = listAt(said(await client.call('s__seen')), 'lines')
    const ran = lines
      .map((line) => parsed(Buffer.from(String(line), 'base64').toString()))
      .filter((line) => textAt(line, 'params', 'name') === 'nonce')
      .map((line) => textAt(line, 'params', 'arguments', 'n'))
    assert.deepEqual(
      ran,
      served.map((heard) => textAt(said(heard), 'n')),
    )
  })
})

describe('a server that ends one of its streams and lives on', () => {
  for (const stream of ['stdin', 'stdout']) {
    test(`${stream}: it is replaced, and its calls are answered`, async (t) => {
      const { client } = await (await libraryProxy(t, { s: itServer({}, { restartDelay: 1 }) })).attach()
      await client.open()
      const pid = numberAt(said(await client.call('s__nonce', { n: 'a' })), 'pid')
      const closing = client.call(`s__close-${stream}`)
      await closing
      let now = pid
      while (now === pid) {
        const heard = await client.call('s__nonce', { n: 'b' })
        if (at(heard.value, 'error') === undefined) now = numberAt(said(heard), 'pid')
        else assert.deepEqual(failure(heard).slice(0, 2), [-32603, 's'])
      }
      assert.notEqual(now, pid)
    })
  }
})
