// The trace of a seed does not depend on earlier seeds. `npm run sim -- --twice` compares the traces of all seeds.

import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { type RunKind, drawKind } from './draw-kind.js'
import { inTurn } from './in-turn.js'
import { simulate } from './simulate.js'
import { warm } from './warm.js'

const counts: readonly (readonly [RunKind, number])[] = [
  ['plain', 6],
  ['http', 4],
  ['eras', 3],
  ['http-eras', 3],
  ['instances', 3],
]

before(warm)

for (const [kind, count] of counts)
  test(`${kind}: ${count} seeds`, async () => {
    const hashes = new Map<number, string>()
    for (let seed = 1; seed <= count; seed++) hashes.set(seed, await hashOf(kind, seed))
    for (let seed = count; seed >= 1; seed--)
      assert.equal(await hashOf(kind, seed), hashes.get(seed), `seed ${seed}`)
    assert.equal(new Set(hashes.values()).size, count)
  })

function hashOf(kind: RunKind, seed: number): Promise<string> {
  return inTurn(() => simulate(drawKind(kind, seed, 25)).trace.hash)
}
