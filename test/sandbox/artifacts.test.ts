// Which files a client is told of.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Artifacts } from '../../src/sandbox/artifacts.js'

const file = (name: string, changedMs = 1): { name: string; bytes: number; changedMs: number } => {
  return { name, bytes: 1, changedMs }
}

describe('artifacts', () => {
  test('are told of once, and again when they have changed', () => {
    const artifacts = new Artifacts()
    const told = (...found: Parameters<Artifacts['fresh']>[0]): string[] =>
      artifacts.fresh(found).map(({ path }) => path)
    assert.deepEqual(told(file('a'), file('b')), ['artifacts/a', 'artifacts/b'])
    assert.deepEqual(told(file('a'), file('b', 2)), ['artifacts/b'])
  })

  test('without end are remembered up to a limit, the newest ones', () => {
    const artifacts = new Artifacts()
    artifacts.fresh([file('first')])
    artifacts.fresh([file('second')])
    artifacts.fresh([file('first', 2)])
    artifacts.fresh(Array.from({ length: 9999 }, (_, i) => file(`${i}`)))
    assert.deepEqual(artifacts.fresh([file('first', 2), file('9998')]), [])
    assert.deepEqual(artifacts.fresh([file('second')]), [{ path: 'artifacts/second', bytes: 1 }])
  })
})
