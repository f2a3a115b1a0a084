// Servers that say the secrets that they were given: neither the status nor a client nor the log tells them.

import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { settled } from '../upstream/support/fake-runtime.js'
import { type Scripted, enter, scripted, simple, timed } from './support/scripted.js'
import type { Scope } from './support/spawned.js'

const key = `sk-live-${'Q7Zp'.repeat(10)}`
const tells = /sk-l|Q7Zp/

/** A server that refuses this method with an error that contains its key. */
async function leaking(t: Scope, refused?: string): Promise<Scripted> {
  const error = `{"code":-32000,"message":"${'bad '.repeat(40)}key ${key}"}`
  const it = await scripted(t, { s: { env: { API_KEY: key } } }, (method, child) =>
    method === refused ? { error } : simple(method, child),
  )
  const { client } = await enter(it)
  const { heard } = await timed(it, client.request('tools/list'))
  assert.doesNotMatch(heard.text, tells)
  return it
}

for (const method of ['initialize', 'tools/list'])
  test(`a server that refuses ${method} with its key`, async (t) => {
    const { proxy, log } = await leaking(t, method)
    const [status] = proxy.status()
    assert.match(status?.error ?? '', /bad bad .*\[redacted\]/)
    assert.doesNotMatch(status?.error ?? '', tells)
    assert.doesNotMatch(log.map(({ message }) => message).join('\n'), tells)
  })

test('a line of stderr that is cut within a key', async (t) => {
  const { runtime, log } = await leaking(t)
  runtime.children[0]?.stderr.write(`${'y'.repeat(8192 - 24)}${key}\n`)
  await settled()
  assert.match(log.find(({ message }) => message.startsWith('yyy'))?.message ?? '', /y\[redacted\]$/)
})
