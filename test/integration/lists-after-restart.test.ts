// What is known of a server that ended and came back.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { limits } from '../../src/index.js'
import { type RawClient, failure, said } from './support/client.js'
import { at, numberAt, textAt } from './support/json.js'
import { libraryProxy } from './support/library.js'
import { type Phase, phases } from './support/phases.js'
import { until } from './support/waiting.js'

const changes = (client: RawClient): number =>
  client.count((value) => textAt(value, 'method') === 'notifications/tools/list_changed')

const lists = { ...limits.upstream.lists, retryMs: 20 }
const quick = { limits: { ...limits, upstream: { ...limits.upstream, lists } } }

describe('the lists of a server that came back', () => {
  const cases: readonly (readonly [string, Phase, readonly string[], number])[] = [
    ['are not told anew when they are the same', { tools: ['a', 'die'] }, ['s__a', 's__die'], 0],
    ['are told once when they differ', { tools: ['b', 'die'] }, ['s__b', 's__die'], 1],
    ['are told when there is nothing any more', { capabilities: { logging: {} } }, [], 1],
    ['are told when they are empty', { tools: [] }, [], 1],
    ['stay as they were when they are refused', { refuse: ['tools/list'] }, ['s__a', 's__die'], 0],
    ['stay as they were when they do not come', { no: ['tools/list'] }, ['s__a', 's__die'], 0],
  ]
  for (const [title, phase, wanted, told] of cases) {
    test(title, async (t) => {
      const isLate = phase.no !== undefined
      const times = { restartDelay: 1, ...(isLate && { startTimeout: 1500 }) }
      const s = phases(t, [{ tools: ['a', 'die'] }, phase], times)
      const { attach, log } = await libraryProxy(t, { s: s.entry }, quick)
      const { client } = await attach()
      await client.open()
      await client.toolNames()
      await client.call('s__die')
      // The second process has been asked for its prompts too, or for nothing.
      await until(() => s.starts() === 2 && s.told('notifications/initialized').length === 2)
      if (told > 0) await client.notification('notifications/tools/list_changed')
      else await until(() => s.told('tools/list').length > 1)
      if (phase.no !== undefined || phase.refuse !== undefined) {
        await until(() => log.some(({ message }) => message.includes('what was known of it stays')))
      }
      assert.deepEqual(await client.toolNames(), wanted)
      await client.request('ping')
      assert.equal(changes(client), told)
    })
  }

  test('are read again until they come, and a server that lists nothing yet is not well', async (t) => {
    const s = phases(t, [{ skip: { 'tools/list': 2 } }], { startTimeout: 500 })
    const { attach, proxy } = await libraryProxy(t, { s: s.entry }, quick, { startupGraceMs: 10 })
    const { client } = await attach()
    await client.open()
    assert.deepEqual(await client.toolNames(), [])
    await until(() => proxy.status()[0]?.state === 'error')
    assert.match(proxy.status()[0]?.error ?? '', /tools\/list.*startTimeout/)
    const { value } = await client.call('s__which')
    if (at(value, 'error') !== undefined)
      assert.equal(textAt(value, 'error', 'data', 'reason'), 'unavailable')
    await client.notification('notifications/tools/list_changed')
    assert((await client.toolNames()).includes('s__which'))
    assert.equal(proxy.status()[0]?.state, 'connected')
    assert.equal(numberAt(said(await client.call('s__which')), 'start'), 0)
  })

  test('are not asked for for ever', async (t) => {
    const few = { ...limits, upstream: { ...limits.upstream, lists: { ...lists, retriesMax: 3 } } }
    const s = phases(t, [{ refuse: ['tools/list'] }])
    const { attach, log } = await libraryProxy(t, { s: s.entry }, { limits: few })
    const { client } = await attach()
    await client.open()
    await until(() => log.filter(({ message }) => message.startsWith('tools/list')).length === 4)
    await new Promise((resolve) => setTimeout(resolve, 20 * lists.retryMs))
    assert.equal(s.told('tools/list').length, 4)
  })
})

describe('subscriptions', () => {
  const uri = 'it://r'
  const message = { method: 'notifications/resources/updated', params: { uri } }

  test('one that the server refuses is none, also after a restart', async (t) => {
    const phase = { refuse: ['resources/subscribe'], tools: ['tell', 'die', 'which'] }
    const s = phases(t, [phase, phase], { restartDelay: 1 })
    const { client } = await (await libraryProxy(t, { s: s.entry })).attach()
    await client.open()
    const refused = await client.request('resources/subscribe', { uri })
    assert.equal(textAt(refused.value, 'error', 'message'), 'not now')
    await client.call('s__tell', { message })
    await client.call('s__die')
    await client.call('s__tell', { message })
    await client.call('s__which')
    assert.equal(
      client.count((value) => textAt(value, 'method') === message.method),
      0,
    )
    assert.equal(s.told('resources/subscribe').length, 1)
  })

  test('as many as there may be, and one more is refused', async (t) => {
    const few = { ...limits, upstream: { ...limits.upstream, subscriptionsMax: 2 } }
    const s = phases(t, [{}])
    const { attach } = await libraryProxy(t, { s: s.entry }, { limits: few })
    const [one, two] = [await attach(), await attach()]
    await one.client.open()
    await two.client.open()
    // What no server lists goes to the one that has resources.
    for (const n of [1, 2]) {
      const granted = await one.client.request('resources/subscribe', { uri: `it://r/${n}` })
      assert.notEqual(at(granted.value, 'result'), undefined)
    }
    const refused = await two.client.request('resources/subscribe', { uri: 'it://r/3' })
    assert.deepEqual(failure(refused), [-32603, 's', 'overloaded'])
    await one.client.request('resources/unsubscribe', { uri: 'it://r/1' })
    const later = await two.client.request('resources/subscribe', { uri: 'it://r/3' })
    assert.notEqual(at(later.value, 'result'), undefined)
  })
})
