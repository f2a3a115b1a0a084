// Servers that say the secrets that they were given: neither the status nor a client nor the log tells them.

import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { FakeRuntime, polite, settled } from '../upstream/support/fake-runtime.js'
import { libraryProxy } from './support/library.js'
import type { Scope } from './support/spawned.js'

const key = `sk-live-${'Q7Zp'.repeat(10)}`
const tells = /sk-l|Q7Zp/

/** A server that answers this method with an error which says its key. */
async function tellTale(t: Scope, refused: string): ReturnType<typeof libraryProxy> {
  const runtime = new FakeRuntime()
  runtime.script = (method, params, child) => {
    if (method !== refused) return polite(method, params, child)
    const error = `{"code":-32000,"message":"${'bad '.repeat(40)}key ${key}"}`
    child.say(`{"jsonrpc":"2.0","id":${child.lastId},"error":${error}}`)
    return undefined
  }
  const made = await libraryProxy(t, { s: { command: 'x', env: { API_KEY: key } } }, { runtime })
  const { client } = await made.attach()
  const opening = client.open()
  await runtime.pass(5000)
  await opening
  const listing = client.request('tools/list')
  await runtime.pass(5000)
  assert.doesNotMatch((await listing).text, tells)
  return made
}

for (const method of ['initialize', 'tools/list'])
  test(`a server that refuses ${method} with its key`, async (t) => {
    const { proxy, log } = await tellTale(t, method)
    const [status] = proxy.status()
    assert.match(status?.error ?? '', /bad bad .*\[redacted\]/)
    assert.doesNotMatch(status?.error ?? '', tells)
    assert.doesNotMatch(log.map(({ message }) => message).join('\n'), tells)
  })

test('a line of stderr that is cut within a key', async (t) => {
  const runtime = new FakeRuntime()
  const { attach, log } = await libraryProxy(t, { s: { command: 'x', env: { API_KEY: key } } }, { runtime })
  const { client } = await attach()
  const opening = client.open()
  await runtime.pass(1000)
  await opening
  runtime.children[0]?.stderr.write(`${'y'.repeat(8192 - 24)}${key}\n`)
  await settled()
  const said = log.find(({ message }) => message.startsWith('yyy'))
  assert.match(said?.message ?? '', /y\[redacted\]$/)
})
