// The load runs about memory, in a file of their own since they take longest.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { cli } from '../integration/support/programs.js'
import { scenarios } from './scenarios.js'

const counts: readonly [name: string, count: number][] = [
  ['huge-line', 1],
  ['slow-readers', 6],
]

describe('memory under faults', { skip: process.platform !== 'linux' }, () => {
  for (const [name, count] of counts) {
    test(`${name} ${count}: ${scenarios.get(name)?.promise}`, async () => {
      const figure = await scenarios.get(name)?.run({ count, cli, say: () => undefined })
      assert(figure?.holds, figure?.line)
    })
  }
})
