// What checks arguments is loaded while nobody waits, and only where a tool has something to check.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { ArgumentChecks } from '../../../src/proxy/routing/argument-checks.js'

const schemaSpan = { start: 0, end: 2 }

const cases = [
  ['no tool', [[]], 0],
  ['tools without a schema', [[{ schemaSpan: undefined }]], 0],
  ['a tool with a schema', [[{ schemaSpan: undefined }, { schemaSpan }]], 1],
  ['a tool that is listed later', [[], [{ schemaSpan }]], 1],
  ['tools that are listed again', [[{ schemaSpan }], [{ schemaSpan }]], 1],
] as const

for (const [title, lists, wanted] of cases) {
  test(`${title}: ${wanted} loads`, () => {
    const checks = new ArgumentChecks(() => {})
    const delays: number[] = []
    const runtime = {
      setTimer: (delayMs: number) => {
        delays.push(delayMs)
        return { cancel: () => {} }
      },
    }
    for (const tools of lists) checks.prepare(tools, runtime)
    assert.equal(delays.length, wanted)
    assert.ok(
      delays.every((delayMs) => delayMs > 0),
      'the answer that lists the tools is sent first',
    )
  })
}
