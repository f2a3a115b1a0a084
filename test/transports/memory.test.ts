import assert from 'node:assert/strict'
import { setImmediate as turn } from 'node:timers/promises'
import { test } from 'node:test'
import { memoryPair } from '../../src/transports/memory.js'
import { Recorder, holdsConnectionContract, message } from '../contracts/connection.js'

holdsConnectionContract('memory', () => {
  const [left, right] = memoryPair()
  return { left, right }
})

test('what arrives is a copy, made when it was sent', async () => {
  const [left, right] = memoryPair()
  const far = new Recorder()
  left.start(new Recorder())
  right.start(far)
  const memory = message('"first"')
  left.send(memory)
  memory.joined.fill('x')
  await far.seen('message')
  assert.deepEqual(far.events, ['message "first"'])
})

test('reading may be stopped between two messages of one turn', async () => {
  const [left, right] = memoryPair()
  const far = new Recorder()
  far.on = () => right.read(false)
  left.start(new Recorder())
  right.start(far)
  left.send(message('1'))
  left.send(message('2'))
  await far.seen('message 1')
  await turn()
  assert.deepEqual(far.events, ['message 1'])
  right.read(true)
  await far.seen('message 2')
})
