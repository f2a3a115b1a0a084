import assert from 'node:assert/strict'
import { test } from 'node:test'
import { faults } from './faults.js'
import { phases } from './phases.js'

test('the fault table and the phase table have every row once', () => {
  assert.equal(new Set(faults.map(({ name }) => name)).size, 26)
  assert.equal(new Set(phases.map(({ name }) => name)).size, 14)
})
