import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { inTurn } from './in-turn.js'
import { regressionLine, regressionOf, regressions } from './regressions.js'
import { failuresText, simulate } from './simulate.js'
import { warm } from './warm.js'

before(warm)

describe('runs in which something was found once', () => {
  for (const { what, plan } of regressions)
    test(what, async () => {
      const { failures } = await inTurn(() => simulate(plan))
      assert.equal(failuresText(failures), '')
    })
})

test('a plan is printed as the line that is kept', () => {
  for (const { what, plan } of regressions) {
    const { plan: again } = regressionOf(regressionLine(what, plan))
    assert.deepEqual(again, plan)
  }
})
