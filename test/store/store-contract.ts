// The contract of a store.

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, test } from 'node:test'
import { ALL, type Store } from '../../src/store/store.js'
import type { Scope } from '../support/scope.js'

/** Opens stores of several instances that share their entries and messages with each other, and with no earlier ones. */
export type OpenStores = (scope: Scope, count: number) => Promise<Store[]>

const LONG_MS = 60_000

/** Waits until it is so; a test that waits in vain is ended by its runner. */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await delay(5)
}

export function describeStore(
  name: string,
  open: OpenStores,
  options: { readonly skip?: string } = {},
): void {
  describe(name, options, () => {
    test('has what another instance has put, as bytes, until it is deleted', async (t) => {
      const [one, other] = await pair(open, t)
      const value = Buffer.from([0, 255, 13, 10, 128])
      assert.equal(await other.get('key'), undefined)
      await one.put('key', Buffer.from('first'), LONG_MS)
      await one.put('key', value, LONG_MS)
      assert.deepEqual(await other.get('key'), value)
      await other.delete('key')
      assert.equal(await one.get('key'), undefined)
    })

    test('forgets an entry when its time is over', async (t) => {
      const [one, other] = await pair(open, t)
      await one.put('short', Buffer.from('x'), 20)
      await until(async () => (await other.get('short')) === undefined)
      assert.equal(await other.add('short', Buffer.from('y'), LONG_MS), true)
    })

    test('adds for one instance alone', async (t) => {
      const [one, other] = await pair(open, t)
      const added = await Promise.all([
        one.add('once', Buffer.from('one'), LONG_MS),
        other.add('once', Buffer.from('other'), LONG_MS),
      ])
      assert.deepEqual(added.toSorted(), [false, true])
    })

    test('gives no more tokens than a bucket has, to all instances together', async (t) => {
      const [one, other] = await pair(open, t)
      const bucket = { perMinute: 1, burst: 10 }
      const taken = await Promise.all([one, other, one].map((store) => store.take('calls', bucket, 4)))
      const found = taken.map((each) => each.taken).toSorted((less, more) => more - less)
      assert.deepEqual(found, [4, 4, 2])
      const { taken: none, waitMs } = await other.take('calls', bucket, 1)
      assert.equal(none, 0)
      assert.ok(waitMs > 50_000 && waitMs <= 60_000, String(waitMs))
      assert.equal((await one.take('other calls', bucket, 1)).taken, 1)
    })

    test('refills a bucket, up to its burst', async (t) => {
      const [one] = await pair(open, t)
      const bucket = { perMinute: 6000, burst: 3 }
      assert.equal((await one.take('fast', bucket, 3)).taken, 3)
      await until(async () => (await one.take('fast', bucket, 1)).taken === 1)
      await delay(100)
      assert.equal((await one.take('fast', bucket, 9)).taken, 3)
    })

    test('hands each message to its instance, and those to all to every instance, in order', async (t) => {
      const [one, other] = await pair(open, t)
      const came: string[][] = [[], []]
      await one.receive('one', (message) => came[0]?.push(message.toString()))
      await other.receive('other', (message) => came[1]?.push(message.toString()))
      const numbers = Array.from({ length: 50 }, (_, at) => String(at))
      await Promise.all(numbers.map((each) => one.send('other', Buffer.from(each))))
      await other.send('one', Buffer.from('back'))
      await one.send(ALL, Buffer.from('to all'))
      await until(() => came[0]?.length === 2 && came[1]?.length === 51)
      assert.deepEqual(came, [
        ['back', 'to all'],
        [...numbers, 'to all'],
      ])
    })

    test('hands over no message that was sent before its instance came, and none once it is closed', async (t) => {
      const [one, other] = await pair(open, t)
      await one.send('other', Buffer.from('early'))
      const came: string[] = []
      await other.receive('other', (message) => came.push(message.toString()))
      await one.send('other', Buffer.from('in time'))
      await until(() => came.length > 0)
      await other.close()
      await one.send('other', Buffer.from('late'))
      await delay(20)
      assert.deepEqual(came, ['in time'])
    })
  })
}

async function pair(open: OpenStores, scope: Scope): Promise<[Store, Store]> {
  const [one, other] = await open(scope, 2)
  assert.ok(one !== undefined && other !== undefined)
  return [one, other]
}
