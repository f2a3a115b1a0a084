// The end of the built program: by a signal, by its client, or by a fault in it.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { describe, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { failure, said } from './support/client.js'
import { numberAt, textAt } from './support/json.js'
import { startMixedCalls, wrongAnswers } from './support/mixed-calls.js'
import { itServer, root } from './support/programs.js'
import { type Spawned, spawnProxy } from './support/spawned.js'
import { HANG_MS, gone, until } from './support/waiting.js'

const CALLS = 100

const ways: [string, (proxy: Spawned) => void][] = [
  ['SIGTERM', ({ child }) => child.kill('SIGTERM')],
  ['the end of stdin', (proxy) => proxy.end()],
]

describe('the end of mcps-proxy --stdio, with 100 calls in flight', { concurrency: 4 }, () => {
  for (const [way, end] of ways)
    test(`${way}: each call is answered once, and the servers are gone`, async (t) => {
      const proxy = spawnProxy(t, { s: itServer({ IT_STUBBORN: '1' }, { stopTimeout: 500 }) })
      await proxy.client.open()
      const pids = said(await proxy.client.call('s__pids'))
      startMixedCalls(proxy.client, CALLS)
      await proxy.client.request('ping')
      end(proxy)
      assert.equal(await proxy.exited, 0)
      proxy.assertValid()
      assert.deepEqual(wrongAnswers(proxy.client, CALLS), [])
      for (const name of ['pid', 'grandchild']) await until(() => gone(numberAt(pids, name)))
    })

  test('what is asked after SIGTERM is refused at once', async (t) => {
    const proxy = spawnProxy(t, { s: itServer() })
    await proxy.client.open()
    const running = proxy.client.call('s__slow', { steps: 5, everyMs: 100 }, { progressToken: 1 })
    await proxy.client.request('ping')
    proxy.child.kill('SIGTERM')
    await until(() => proxy.stderr.includes('SIGTERM'))
    const late = await proxy.client.call('s__nonce', { n: '' })
    assert.equal(failure(late)[2], 'shutting-down')
    assert.equal(numberAt(said(await running), 'at'), 6)
    assert.equal(await proxy.exited, 0)
  })

  test('a slow reader gets every byte of what is on its way', async (t) => {
    const proxy = spawnProxy(t, { s: itServer() }, { more: { server: { drainTimeout: HANG_MS } } })
    await proxy.client.open()
    await proxy.client.call('s__nonce', { n: '' })
    const { stdout } = proxy.child
    const answer = proxy.client.call('s__big', { bytes: 8 * MiB })
    await once(stdout, 'data')
    stdout.pause()
    proxy.child.kill('SIGTERM')
    await until(() => proxy.stderr.includes('SIGTERM'))
    stdout.resume()
    assert.equal(await proxy.exited, 0)
    assert(textAt((await answer).value, 'result', 'content', 0, 'text').length > 8 * MiB)
    proxy.assertValid()
  })
})

const MiB = 1024 * 1024

const preload = resolve(root, 'test/programs/injected-fault.mjs')
const faulty = (where: string): NodeJS.ProcessEnv => ({
  ...process.env,
  FAULT_AT: where,
  NODE_OPTIONS: `--import ${pathToFileURL(preload).href}`,
})

describe('a fault inside the proxy', { concurrency: 4 }, () => {
  for (const where of ['timer', 'again'])
    test(`${where}: what is pending is answered, the servers are gone, and the exit code is 70`, async (t) => {
      const proxy = spawnProxy(
        t,
        { s: itServer({ IT_STUBBORN: '1' }, { stopTimeout: 500 }) },
        { env: faulty(where) },
      )
      await proxy.client.open()
      const pids = said(await proxy.client.call('s__pids'))
      const stuck = Array.from({ length: 10 }, () => proxy.client.call('s__never'))
      const running = proxy.client.call('s__slow', { steps: 2, everyMs: 100 }, { progressToken: 1 })
      await proxy.client.request('ping')
      proxy.child.kill('SIGUSR2')
      assert.equal(await proxy.exited, 70)
      for (const call of stuck) assert.equal(failure(await call)[2], 'shutting-down')
      assert.equal(numberAt(said(await running), 'at'), 3)
      assert.match(proxy.stderr, /"level":"error".*injected fault/)
      for (const name of ['pid', 'grandchild']) await until(() => gone(numberAt(pids, name)))
    })
})

test('a client that closes our stdout ends the session', async (t) => {
  const proxy = spawnProxy(t, { s: itServer() })
  await proxy.client.open()
  const pid = await proxy.client.pidOf('s__nonce')
  proxy.child.stdout.destroy()
  for (let id = 100; id < 110; id++)
    proxy.client.post('tools/call', { name: 's__nonce', arguments: { n: 'x' } }, id)
  await once(proxy.child, 'exit')
  await until(() => gone(pid))
})
