// Which files a client is told of.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Artifacts } from '../../src/sandbox/artifacts.js'
import { listAt } from '../integration/support/json.js'
import { openSandbox } from './support/sandbox.js'

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

  test('of a command are told of once, however many there are', async (t) => {
    const { client } = await openSandbox(t)
    const sandbox = client()
    const told = async (command: string): Promise<number> => {
      const done = await sandbox.command(command, { session_id: 's' })
      return listAt(done.of('artifacts')).length
    }
    assert.equal(await told('mkdir artifacts; cd artifacts; seq 12000 | xargs touch'), 20)
    assert.equal(await told('true'), 0)
    assert.equal(await told('echo x > artifacts/1'), 1)
    assert.equal(await told('rm artifacts/*'), 0)
  })

  test('that are dated before 1970 are told of', async (t) => {
    const { client } = await openSandbox(t)
    const done = await client().command('mkdir artifacts; touch -d @-100000.25 artifacts/old')
    assert.equal(listAt(done.of('artifacts')).length, 1, done.text)
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
