import assert from 'node:assert/strict'
import { setImmediate as turn } from 'node:timers/promises'
import { test } from 'node:test'
import { memoryPair } from '../../src/transports/memory.js'
import { Recorder, holdsConnectionContract, message } from '../contracts/connection.js'

holdsConnectionContract('memory', () => {
  const [left, right] = memoryPair()
  return { left, right }
})

test('what was sent before a close arrives, even when nobody read until after it', async () => {
  const [left, right] = memoryPair()
  left.start(new Recorder())
  left.send(message('1'))
  await left.close()
  await turn()
  const far = new Recorder()
  right.start(far)
  await far.seen('closed')
  assert.deepEqual(far.events, ['message 1', 'closed undefined'])
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

function text(parts: Uint8Array[]): string {
  return Buffer.concat(parts).toString()
}

test('each tap sees the messages of its end', async () => {
  const [left, right] = memoryPair()
  const [near, far] = [new Recorder().watching(), new Recorder().watching()]
  left.start(near)
  right.start(far)
  left.send(message('1'))
  await far.seen('message')
  assert.deepEqual([near.wired.out, near.wired.in, far.wired.out, far.wired.in].map(text), ['1', '', '', '1'])
})

test('who starts after a tap has failed is told why the connection ended', async () => {
  const [left, right] = memoryPair()
  const far = new Recorder()
  far.wire = () => {
    throw new Error('no room')
  }
  right.start(far)
  left.send(message('1'))
  await far.seen('closed')
  const late = new Recorder()
  right.start(late)
  await late.seen('closed')
  assert.deepEqual(late.events, ['closed TRANSPORT_TAP'])
})
