import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import * as fc from 'fast-check'
import { hasUniqueItems } from '../../../src/mcp/validate/unique-items.js'

describe('hasUniqueItems', () => {
  it('agrees with comparing every two', () => {
    const leaf = fc.constantFrom<unknown>(0, -0, 1, '1', '', true, null, 'true', 'null', '[]')
    const key = fc.constantFrom('a', 'b', '__proto__', 'a":1,"b')
    const { item } = fc.letrec<{ item: unknown }>((tie) => ({
      item: fc.oneof(
        { maxDepth: 2 },
        leaf,
        fc.array(tie('item'), { maxLength: 2 }),
        fc.dictionary(key, tie('item'), { maxKeys: 2 }),
      ),
    }))
    fc.assert(
      fc.property(fc.array(item, { maxLength: 6 }), (made) => {
        const items: unknown = JSON.parse(JSON.stringify(made))
        assert.ok(Array.isArray(items))
        const want = items.every((one, i) => items.every((two, j) => i === j || !isDeepStrictEqual(one, two)))
        assert.equal(
          hasUniqueItems(items, () => {}),
          want,
        )
      }),
      { numRuns: 1000 },
    )
  })

  it('does not take two big integers for one', () => {
    const items: unknown = JSON.parse(
      '[9007199254740992,9007199254740993,[9007199254740992],[9007199254740993]]',
    )
    assert.ok(Array.isArray(items))
    assert.equal(
      hasUniqueItems(items, () => {}),
      true,
    )
  })
})
