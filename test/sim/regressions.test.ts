// What was found once does not come back.

import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { eraRegressions } from './era-regressions.js'
import { frontRegressions } from './front-regressions.js'
import { inTurn } from './in-turn.js'
import { listRegressions } from './list-regressions.js'
import { regressions } from './regressions.js'
import { failuresText } from './report.js'
import { simulate } from './simulate.js'
import { waitingRegressions } from './waiting-regressions.js'
import { warm } from './warm.js'

before(warm)

describe('runs in which something was found once', () => {
  for (const { what, plan } of [
    ...regressions,
    ...listRegressions,
    ...frontRegressions,
    ...waitingRegressions,
    ...eraRegressions,
  ]) {
    test(what, async () => {
      const { failures } = await inTurn(() => simulate(plan))
      assert.equal(failuresText(failures), '')
    })
  }
})
