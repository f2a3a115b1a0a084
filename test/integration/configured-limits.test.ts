// A limit of the configuration, as a user sees it hold.

import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { enter, scripted, simple } from './support/scripted.js'

test('processesMax holds for the first start of all servers', async (t) => {
  const servers = { s0: {}, s1: {}, s2: {}, s3: {} }
  const it = await scripted(t, servers, simple, { eager: true }, { processesMax: 2 })
  const { client } = await enter(it)
  assert.equal((await it.runtime.until(client.toolNames())).length, 2)
  assert.equal(it.runtime.children.length, 2)
  const errors = it.proxy.status().map(({ error }) => error)
  assert.match(errors.join(), /'s3' cannot be started: 2 processes run already, which is processesMax/)
})
