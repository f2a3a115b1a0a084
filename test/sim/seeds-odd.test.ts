import { test } from 'node:test'
import { runSeeds } from './run-seeds.js'

test('the odd seeds: everything is answered once, in time and to whom it belongs, and nothing is left', () =>
  runSeeds(1, 2, 250, 25))

test('longer runs', () => runSeeds(100_001, 2, 5, 400))
