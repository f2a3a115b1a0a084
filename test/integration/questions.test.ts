// The time of calls whose client is being asked.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { at, numberAt, textAt } from './support/json.js'
import { type Act, type Scripted, closed, enter, scripted, simple, timed } from './support/scripted.js'
import type { FakeChild } from '../upstream/support/fake-runtime.js'

const QUESTION = '"method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object"}}'

const WITHDRAWN = '"method":"notifications/cancelled","params":{"requestId":"q"}'

const say = (child: FakeChild, members: string): void => child.say(`{"jsonrpc":"2.0",${members}}`)

/** A server that asks in every call; what it does with an answer is `answered`. */
function asks(answered: (child: FakeChild, id: string) => void): Act {
  return (method, child) => {
    if (method !== 'tools/call') return simple(method, child)
    const id = child.lastId
    child.answered = () => answered(child, id)
    say(child, `"id":"q",${QUESTION}`)
    return undefined
  }
}

const finishes = asks((child, id) => say(child, `"id":${id},"result":{"content":[]}`))

const hangs = asks(() => {})

/** Arguments are not checked: loading what checks them takes real time. */
const times = { timeout: 30_000, totalTimeout: 100_000, argumentChecks: 'off' }

interface Case {
  readonly title: string
  readonly act: Act
  readonly isolation?: 'shared' | 'session'
  /** After how long the client answers. */
  readonly answerMs?: number
  readonly meanwhile?: (it: Scripted) => void
  readonly wanted: readonly [budget: string | undefined, ms: number]
}

const cases: readonly Case[] = [
  {
    title: 'an answer may take longer than the call',
    act: finishes,
    answerMs: 40_000,
    wanted: [undefined, 40_000],
  },
  {
    title: 'on a shared process too',
    act: finishes,
    isolation: 'shared',
    answerMs: 40_000,
    wanted: [undefined, 40_000],
  },
  {
    title: 'the time goes on with the answer',
    act: hangs,
    answerMs: 40_000,
    wanted: ['timeout', 70_000],
  },
  {
    title: 'the total time goes on all the while',
    act: hangs,
    wanted: ['totalTimeout', 100_000],
  },
  {
    title: 'the time goes on when the server withdraws its question',
    act: hangs,
    meanwhile: ({ runtime }) => {
      runtime.setTimer(40_000, () => {
        for (const child of runtime.children) say(child, WITHDRAWN)
      })
    },
    wanted: ['timeout', 70_000],
  },
]

describe('while a client is being asked, the time of its call stands still', () => {
  for (const { title, act, isolation, answerMs, meanwhile, wanted } of cases) {
    test(title, async (t) => {
      const it = await scripted(t, { s: { ...times, ...(isolation && { isolation }) } }, act)
      const { client } = await enter(it, { elicitation: {} })
      client.onRequest = (_method, _params, { value }) => {
        const answer = `{"jsonrpc":"2.0","id":${JSON.stringify(at(value, 'id'))},"result":{"action":"cancel"}}`
        if (answerMs !== undefined) it.runtime.setTimer(answerMs, () => client.send(answer))
        return undefined
      }
      meanwhile?.(it)
      const { heard, ms } = await timed(it, client.call('s__t'))
      const data = at(heard.value, 'error', 'data')
      const budget = data === undefined ? undefined : textAt(data, 'budget')
      assert.deepEqual([budget, Math.round(ms / 1000) * 1000], wanted, heard.text)
      if (budget === 'timeout') assert.equal(numberAt(data, 'ms'), times.timeout)
      await closed(it)
    })
  }

  test('a process that ends while it is owed an answer takes no time of the call that is given to the next', async (t) => {
    let asked = 0
    const act: Act = (method, child) => {
      if (method !== 'resources/read') return readable(method, child)
      // The second process says nothing at all.
      if (asked++ === 0) {
        say(child, `"id":"q",${QUESTION}`)
        it.runtime.setTimer(40_000, () => child.end(1))
      }
      return undefined
    }
    const it = await scripted(t, { s: { ...times, restartDelay: 10 } }, act)
    const { client } = await enter(it, { elicitation: {} })
    const { heard, ms } = await timed(it, client.request('resources/read', { uri: 'it://r' }))
    assert.equal(textAt(heard.value, 'error', 'data', 'budget'), 'timeout', heard.text)
    assert.equal(Math.round(ms / 1000), 70)
    assert.equal(asked, 2)
    await closed(it)
  })
})

test('no id is asked twice, so that an answer which is said again is the answer to nothing else', async (t) => {
  const it = await scripted(t, { a: times, b: times }, finishes)
  const { client } = await enter(it, { elicitation: {} })
  const asked: unknown[] = []
  client.onRequest = (_method, _params, { value }) => {
    const id = at(value, 'id')
    asked.push(id)
    // The first is said once more when the second server waits for its own.
    for (const each of new Set([asked[0], id]))
      client.send(`{"jsonrpc":"2.0","id":${JSON.stringify(each)},"result":{"action":"cancel"}}`)
    return undefined
  }
  const answered: string[] = []
  for (const tool of ['a__t', 'b__t', 'a__t']) {
    const { heard } = await timed(it, client.call(tool))
    answered.push(heard.text)
  }
  assert.equal(asked[0], 'q')
  assert.equal(new Set(asked).size, 3, JSON.stringify(asked))
  for (const text of answered) assert.match(text, /"result":\{"content":\[\]\}/)
  await closed(it)
})

const readable = (method: string, child: FakeChild): ReturnType<Act> => {
  switch (method) {
    case 'initialize':
      return `{"protocolVersion":"2025-06-18","capabilities":{"resources":{}},"serverInfo":{"name":"s","version":"1"}}`
    case 'resources/list':
      return '{"resources":[{"uri":"it://r","name":"r"}]}'
    case 'resources/templates/list':
      return '{"resourceTemplates":[]}'
    default:
      return simple(method, child)
  }
}
