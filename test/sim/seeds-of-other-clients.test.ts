import { before, test } from 'node:test'
import { runSeeds } from './run-seeds.js'
import { warm } from './warm.js'

before(warm)

test('over HTTP', () => runSeeds('http', { from: 500_001, count: 75, ops: 25 }))
test('without a session', () => runSeeds('eras', { from: 700_001, count: 30, ops: 25 }))
test('over HTTP and without a session', () => runSeeds('http-eras', { from: 900_001, count: 30, ops: 25 }))
test('two instances', () => runSeeds('instances-2', { from: 1, count: 15, ops: 60 }))
test('three instances', () => runSeeds('instances-3', { from: 1, count: 15, ops: 60 }))
