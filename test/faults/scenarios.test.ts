// Every load run with few faults; `npm run faults -- NAME` causes as many as it takes.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { cli } from '../integration/support/programs.js'
import { scenarios } from './scenarios.js'

const counts: readonly [name: string, count: number][] = [
  ['internal-error', 5],
  ['stop-trees', 4],
  ['kill-children', 40],
  ['reload', 20],
  ['drain', 5],
  ['sessions', 200],
  ['identical-ids', 20_000],
  ['fuzz-client', 5000],
  ['fuzz-server', 5000],
  ['http-soak', 2],
]

// How a process fares is read from where Linux tells it.
describe('load runs under faults', { skip: process.platform !== 'linux' }, () => {
  for (const [name, count] of counts) {
    test(`${name} ${count}: ${scenarios.get(name)?.promise}`, async () => {
      const figure = await scenarios.get(name)?.run({ count, cli, progress: () => undefined })
      assert(figure?.holds, figure?.line)
    })
  }
})
