// The compiler of schemas is loaded once, after the answer that lists tools.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { ArgumentChecks } from '../../../src/proxy/routing/argument-checks.js'

test('the compiler of schemas is loaded once, and not before the list of tools is sent', () => {
  const checks = new ArgumentChecks(() => {})
  const delays: number[] = []
  const runtime = {
    setTimer: (delayMs: number) => {
      delays.push(delayMs)
      return { cancel: () => {} }
    },
  }
  for (let list = 0; list < 2; list++) checks.prepare(runtime)
  assert.equal(delays.length, 1)
  assert(delays.every((delayMs) => delayMs > 0))
})
