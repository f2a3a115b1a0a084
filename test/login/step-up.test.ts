// How often more rights are asked for.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { bearerChallenge } from '../../src/login/challenges.js'
import { StepUps } from '../../src/login/challenges.js'

function wants(scope: string): ReturnType<typeof bearerChallenge> {
  return bearerChallenge([`Bearer error="insufficient_scope", scope="${scope}"`])
}

describe('more rights', () => {
  test('are asked for with all that was asked for before', () => {
    const stepUps = new StepUps({ now: () => 0 })
    assert.deepEqual(stepUps.next(['read', 'list'], wants('write read')), ['read', 'list', 'write'])
    assert.deepEqual(stepUps.next(['read'], wants('admin')), ['read', 'write', 'admin'])
  })

  test('are asked for where that may help', () => {
    const stepUps = new StepUps({ now: () => 0 })
    for (const challenge of [
      wants('read'),
      wants(''),
      bearerChallenge(['Bearer error="insufficient_scope"']),
    ])
      assert.equal(stepUps.next(['read'], challenge), undefined)
    const many = Array.from({ length: 101 }, (_, at) => `s${at}`)
    assert.equal(stepUps.next([], wants(many.join(' '))), undefined)
    assert.equal(stepUps.next([], wants(many.slice(1).join(' ')))?.length, 100)
  })

  test('are asked for three times in ten minutes', () => {
    let now = 0
    const stepUps = new StepUps({ now: () => now })
    const isAsked = (scope: string): boolean => stepUps.next([], wants(scope)) !== undefined
    assert.deepEqual(['a', 'b', 'c', 'd'].map(isAsked), [true, true, true, false])
    now = 599_999
    assert.equal(isAsked('e'), false)
    now = 600_000
    assert.equal(isAsked('f'), true)
  })
})
