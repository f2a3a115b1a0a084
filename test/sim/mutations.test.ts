// Every checker of the simulator can fail: for each one a faulty proxy exists that it detects.

import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { checks } from './checks.js'
import { drawKind } from './draw-kind.js'
import { inTurn } from './in-turn.js'
import { mutations } from './mutations.js'
import { simulate } from './simulate.js'
import { warm } from './warm.js'

const SEEDS = 60
const OPS = 25

before(warm)

test('every checker has a wrong proxy', () => {
  const found: ReadonlySet<string> = new Set(mutations.map(({ finds }) => finds))
  // `not-reached` checks the simulator and not the proxy.
  const others = Object.keys(checks).filter((check) => !found.has(check) && check !== 'not-reached')
  assert.deepEqual(others, [])
})

describe('a wrong proxy is found', () => {
  for (const { finds, kind, plan: only, wrong } of mutations)
    test(`${finds}: ${checks[finds]} (${kind})`, async () => {
      let isFound = false
      for (let seed = 1; seed <= (only === undefined ? SEEDS : 1) && !isFound; seed++) {
        const plan = only ?? drawKind(kind, seed, OPS)
        const { failures } = await inTurn(() => simulate(plan, wrong()))
        isFound = failures.some(({ check }) => check === finds)
      }
      assert.ok(isFound)
    })
})
