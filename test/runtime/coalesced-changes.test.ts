import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CoalescedChanges } from '../../src/runtime/deferred.js'

/** Changes that end when the test calls `end`. */
function scene(): {
  changes: CoalescedChanges<string, string>
  begun: string[]
  end: (how: string | Error) => void
} {
  const begun: string[] = []
  let settle: ((how: string | Error) => void) | undefined
  const changes = new CoalescedChanges<string, string>((value) => {
    begun.push(value)
    return new Promise((resolve, reject) => {
      settle = (how) => (how instanceof Error ? reject(how) : resolve(how))
    })
  })
  return { changes, begun, end: (how) => settle?.(how) }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('of the changes that come while one is made, the last is made, and all of them end as it does', async () => {
  const { changes, begun, end } = scene()
  const first = changes.take('a')
  await turn()
  const others = [changes.take('b'), changes.take('c')]
  end('made a')
  await turn()
  end('made c')
  assert.deepEqual(await Promise.all([first, ...others]), ['made c', 'made c', 'made c'])
  assert.deepEqual(begun, ['a', 'c'])
})

test('a change that fails does not swallow the newer one', async () => {
  const { changes, begun, end } = scene()
  const first = changes.take('a')
  await turn()
  const second = changes.take('b')
  end(new Error('a failed'))
  await turn()
  end('made b')
  assert.deepEqual(await Promise.all([first, second]), ['made b', 'made b'])
  assert.deepEqual(begun, ['a', 'b'])
})

test('the newest change that fails is the error, and the next change is made all the same', async () => {
  const { changes, end } = scene()
  const failed = changes.take('a')
  await turn()
  end(new Error('a failed'))
  await assert.rejects(failed, /a failed/)
  const next = changes.take('b')
  await turn()
  end('made b')
  assert.equal(await next, 'made b')
})
