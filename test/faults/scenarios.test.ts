// Every load run with few faults; `npm run faults -- NAME` causes as many as it takes.

import { strict as assert } from 'node:assert'
import { resolve } from 'node:path'
import { describe, test } from 'node:test'
import { cli, root } from '../integration/support/programs.js'
import { scenarios } from './scenarios.js'

/** To load modules one by one takes more descriptors at once than some runs leave. */
const shipped = resolve(root, 'dist/cli.js')

const counts: readonly [name: string, count: number, command?: string][] = [
  ['internal-error', 5],
  ['stop-trees', 4],
  ['kill-children', 40],
  ['reload', 20],
  ['drain', 5],
  ['sessions', 200],
  ['long-session', 20_000],
  ['identical-ids', 20_000],
  ['fuzz-client', 5000],
  ['fuzz-server', 5000],
  ['http-soak', 2],
  ['cancel-races', 500],
  ['crashes', 4],
  ['deadlines', 200],
  ['clock-jumps', 2],
  ['enospc', 4],
  ['emfile', 3, shipped],
]

// How a process fares is read from where Linux tells it.
describe('load runs under faults', { skip: process.platform !== 'linux' }, () => {
  for (const [name, count, command = cli] of counts) {
    test(`${name} ${count}: ${scenarios.get(name)?.promise}`, async () => {
      const figure = await scenarios.get(name)?.run({ count, cli: command, progress: () => undefined })
      assert(figure?.holds, figure?.line)
    })
  }
})
