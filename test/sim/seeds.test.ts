// Each request is answered once, in time and to its client, and the proxy leaves nothing behind.

import { before, test } from 'node:test'
import { runSeeds } from './run-seeds.js'
import { warm } from './warm.js'

before(warm)

test('many runs', () => runSeeds('plain', { from: 1, count: 250, ops: 25 }))
test('longer runs', () => runSeeds('plain', { from: 100_001, count: 5, ops: 400 }))
