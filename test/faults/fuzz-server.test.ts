// A server that floods the proxy with almost valid frames. The proxy must not crash or stall, clients of another
// server must not notice, and each call must end once.

import { strict as assert } from 'node:assert'
import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { at } from '../integration/support/json.js'
import { itServer } from '../integration/support/programs.js'
import { scratch } from '../integration/support/spawned.js'
import { untilAnswered } from '../integration/support/waiting.js'
import { HttpCaller, type Posted } from './support/http-caller.js'
import { assertHealthy, isLinux, nonceIn, startUnderTest, times } from './support/under-test.js'

const CLIENTS = 4

test('frames of a server that are nearly right', { skip: !isLinux }, async (t) => {
  const file = join(scratch(t), 'said')
  writeFileSync(file, '0')
  const frames = times(2000)
  const mad = [resolve(import.meta.dirname, 'programs/fuzz-server.js'), '1', String(frames), file]
  const servers = {
    good: itServer(),
    mad: { command: process.execPath, args: mad, timeout: 5000, restartDelay: 1 },
  }
  const proxy = startUnderTest(t, '--http', servers)
  const port = await proxy.port()
  const callers = Array.from({ length: CLIENTS }, () => new HttpCaller(port, 2))
  for (const caller of callers) {
    t.after(() => caller.close())
    await caller.open()
    await callBoth(caller, 'warm')
  }
  await proxy.facts('reset')
  // All clients use the same ids, with different nonces.
  const callAll = (turn: number): Promise<void[]> =>
    Promise.all(callers.map((caller, client) => callBoth(caller, `${client}-${turn}`)))
  let turn = 0
  await untilAnswered(async () => {
    await callAll(turn++)
    return Number(readFileSync(file, 'utf8')) >= frames
  })
  await assertHealthy(proxy)
})

async function callBoth(caller: HttpCaller, nonce: string): Promise<void> {
  const [mad, good] = await Promise.all([
    caller.call('mad__hit', { nonce }),
    caller.call('good__nonce', { n: nonce }),
  ])
  assert.equal(answersIn(mad).length, 1)
  assert.deepEqual(answersIn(good).map(nonceIn), [nonce])
}

function answersIn({ messages }: Posted): readonly unknown[] {
  return messages.filter((message) => at(message, 'method') === undefined)
}
