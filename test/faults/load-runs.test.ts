// Load runs with few faults, as tests; `node build/test/faults/main.js NAME COUNT` makes as many as you ask for.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { cli } from '../integration/support/programs.js'
import { scenarios } from './scenarios.js'

const counts: readonly [name: string, count: number][] = [
  ['kill-proxy', 5],
  ['sessions', 100],
  ['long-session', 8000],
  ['fuzz-client', 2000],
  ['fuzz-server', 2000],
  ['enospc', 4],
  ['emfile', 3],
]

// The figures of a process are read from /proc.
describe('load runs', { skip: process.platform !== 'linux' }, () => {
  for (const [name, count] of counts)
    test(`${name} ${count}: ${scenarios.get(name)?.promise}`, async () => {
      const figure = await scenarios.get(name)?.run({ count, cli, say: () => undefined })
      assert(figure?.holds, figure?.line)
    })
})
