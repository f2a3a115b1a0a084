// Many processes share one login. The figures of a run are its diagnostics.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runFleet } from '../login/fleet.js'

test('twenty processes share one login, while its tokens expire and they are killed', async (t) => {
  const plan = { processes: 20, expiries: 1000, kills: 50, seed: 4711, msMax: 30_000 }
  const { stderr, failures, ...figures } = await runFleet(t, plan)
  t.diagnostic(JSON.stringify(figures))
  const logins = stderr.split('\n').filter((line) => line.includes('log'))
  assert.deepEqual([figures.tabs, figures.reuses, failures], [1, 0, []], logins.join('\n'))
  assert(figures.killed > 0 && figures.lost <= figures.killed)
  assert.equal(figures.refreshes, figures.expiries + figures.lost)
  assert.doesNotMatch(stderr, /access-|refresh-|code=|state=|code_verifier/)
})
