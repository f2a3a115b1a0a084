import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { Slots } from '../../src/upstream/server/slots.js'

/** The queue gives its turns in microtasks. */
async function settle(): Promise<void> {
  for (let n = 0; n < 5; n += 1) await turn()
}

/** Starts that are noted by their names. */
class Starts {
  readonly begun: string[] = []
  readonly #slots: Slots

  constructor(slots: Slots) {
    this.#slots = slots
  }

  wait(name: string, wants = true): () => void {
    const leave = this.#slots.wait(() => {
      this.begun.push(name)
      return wants
    })
    assert(leave !== undefined)
    return leave
  }
}

describe('slots', () => {
  test('those that wait start in their order, one for each slot that is free', async () => {
    const slots = new Slots(2, 10)
    const starts = new Starts(slots)
    assert.deepEqual([slots.take(), slots.take(), slots.take()], [true, true, false])
    for (const name of ['a', 'b', 'c']) starts.wait(name)
    await settle()
    assert.deepEqual(starts.begun, [])
    slots.free()
    await settle()
    assert.deepEqual([starts.begun, slots.waiting, slots.take()], [['a'], 2, false])
    slots.free()
    slots.free()
    await settle()
    assert.deepEqual([starts.begun, slots.waiting, slots.taken], [['a', 'b', 'c'], 0, 2])
  })

  test('who gives up leaves room at once, and its turn to the next one', async () => {
    const slots = new Slots(1, 2)
    const starts = new Starts(slots)
    assert(slots.take())
    const leave = starts.wait('a')
    starts.wait('b')
    assert.equal(
      slots.wait(() => true),
      undefined,
    )
    await settle()
    leave()
    leave()
    assert.equal(slots.waiting, 1)
    starts.wait('c')
    slots.free()
    await settle()
    assert.deepEqual(starts.begun, ['b'])
    slots.free()
    await settle()
    assert.deepEqual([starts.begun, slots.taken], [['b', 'c'], 1])
  })

  test('when all have given up, the next call starts at once, and those that wait later start too', async () => {
    const slots = new Slots(1, 10)
    const starts = new Starts(slots)
    assert(slots.take())
    for (const leave of ['a', 'b', 'c'].map((name) => starts.wait(name))) leave()
    await settle()
    slots.free()
    assert.deepEqual([slots.idle, slots.take()], [true, true])
    starts.wait('d')
    starts.wait('e')
    slots.free()
    await settle()
    slots.free()
    await settle()
    assert.deepEqual([starts.begun, slots.taken, slots.waiting], [['d', 'e'], 1, 0])
  })

  test('a start that does not want its slot any more leaves it to the next one', async () => {
    const slots = new Slots(1, 10)
    const starts = new Starts(slots)
    assert(slots.take())
    starts.wait('a', false)
    starts.wait('b')
    slots.free()
    await settle()
    assert.deepEqual([starts.begun, slots.taken], [['a', 'b'], 1])
  })
})
