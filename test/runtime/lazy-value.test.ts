import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { LazyValue } from '../../src/runtime/deferred.js'

test('a value is made once for all who need it', async () => {
  let made = 0
  const value = new LazyValue(() => Promise.resolve(++made))
  assert.deepEqual(await Promise.all([value.get(), value.get()]), [1, 1])
  assert.equal(await value.get(), 1)
})

test('a failure reaches those who wait, and the next one who needs the value tries again', async () => {
  let tries = 0
  const value = new LazyValue(() =>
    ++tries === 1 ? Promise.reject(new Error('too many open files')) : Promise.resolve(tries),
  )
  const waiting = [value.get(), value.get()]
  for (const one of waiting) await assert.rejects(one, /too many open files/)
  assert.equal(await value.get(), 2)
  assert.equal(await value.get(), 2)
})
