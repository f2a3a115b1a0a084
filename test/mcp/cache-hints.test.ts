// How long results hold.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { membersAt } from '../../src/jsonrpc/members.js'
import { hintMembers, hintOf, lastingHint, leastHint, staleHint } from '../../src/mcp/cache-hints.js'

const hint = (ttlMs: number, isPublic = true): typeof staleHint => ({ ttlMs, isPublic })

describe('a hint', () => {
  for (const [title, hints, want] of [
    ['of nothing lasts', [], lastingHint],
    ['is that of what is out of date first', [hint(5), hint(3), lastingHint], hint(3)],
    ['is for all where each is', [hint(5), hint(3, false)], hint(3, false)],
    ['with what is out of date is out of date', [hint(5), staleHint], staleHint],
  ] as const)
    test(`of several ${title}`, () => assert.deepEqual(leastHint(hints), want))

  for (const [text, want] of [
    ['{}', undefined],
    ['{"ttlMs":7,"cacheScope":"public"}', hint(7)],
    ['{"ttlMs":7.5}', hint(7, false)],
    ['{"ttlMs":-1,"cacheScope":"public"}', hint(0)],
    ['{"ttlMs":"7","cacheScope":"x"}', staleHint],
  ] as const)
    test(`is read: ${text}`, () => {
      const bytes = Buffer.from(text)
      const members = membersAt(bytes, { start: 0, end: bytes.length })
      assert(members !== undefined)
      assert.deepEqual(hintOf(bytes, members), want)
    })

  test('is written as a number that every reader takes', () => {
    assert.equal(hintMembers(hint(7)), '"ttlMs":7,"cacheScope":"public"')
    assert.equal(hintMembers(lastingHint), hintMembers(staleHint))
    assert.equal(hintMembers(staleHint), '"ttlMs":0,"cacheScope":"private"')
  })
})
