// That every checker has a mutation which it must find, and that some are found
// here and now. All of them: `npm run sim -- --mutations`.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checks } from './checks.js'
import { MutantFarm, occurrences } from './mutant-farm.js'
import { mutations } from './mutations.js'

/** Found within the first few seeds. */
const QUICK = [
  'every answer leaves twice',
  'messages are written anew',
  'a call is given the answer of the one before',
]

const SEEDS = 40

test('every checker has a mutation', () => {
  const proven = new Set(mutations.flatMap(({ finds }) => finds))
  assert.deepEqual(
    Object.keys(checks).filter((check) => ![...proven].some((name) => name === check)),
    [],
  )
})

test('every mutation knows its one place in the proxy', () => {
  const lost = mutations.flatMap(({ what, replacements }) =>
    replacements
      .filter((replacement) => occurrences(replacement) !== 1)
      .map(({ find }) => `${what}: ${find}`),
  )
  assert.deepEqual(lost, [])
})

test('proxies that are wrong in one place are found', async () => {
  const farm = new MutantFarm()
  try {
    for (const mutation of mutations.filter(({ what }) => QUICK.includes(what))) {
      const { isFound, said } = await farm.hunt(mutation, SEEDS)
      assert.ok(isFound, `${mutation.what}: ${said}`)
    }
  } finally {
    farm.close()
  }
})
