// Several processes share one login; `test/faults/logins.test.ts` has more of them.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runFleet } from './fleet.js'

test('processes that are killed lose no login, open one tab, and use no refresh token twice', async (t) => {
  const plan = { processes: 4, expiries: 30, kills: 5, seed: 7, msMax: 60_000 }
  const { stderr, failures, ...figures } = await runFleet(t, plan)
  assert.deepEqual([figures.tabs, figures.reuses, failures], [1, 0, []])
  assert(figures.killed > 0 && figures.lost <= figures.killed, JSON.stringify(figures))
  assert.equal(figures.refreshes, figures.expiries + figures.lost)
  assert.doesNotMatch(stderr, /access-|refresh-|code=|state=|code_verifier/)
})
