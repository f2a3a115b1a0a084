// Load runs of `test/faults/main.ts` as tests, with few faults.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { cli } from '../../integration/support/programs.js'
import { scenarios } from '../scenarios.js'

/** How a process fares is read from where Linux tells it. */
const skip = process.platform !== 'linux'

export function loadRuns(title: string, counts: readonly (readonly [name: string, count: number])[]): void {
  describe(title, { skip }, () => {
    for (const [name, count] of counts) {
      test(`${name} ${count}: ${scenarios.get(name)?.promise}`, async () => {
        const figure = await scenarios.get(name)?.run({ count, cli, progress: () => undefined })
        assert(figure?.holds, figure?.line)
      })
    }
  })
}
