// States that go through a client, which may do anything with them.

import { strict as assert } from 'node:assert'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { type SealedState, type StateBinding, StateSeal } from '../../../src/proxy/input/state-seal.js'

const relay: SealedState = { kind: 'relay', service: 's', state: '"upstream\\u0041"' }
const parked: SealedState = { kind: 'parked', instance: 'i', call: 'c', round: 3 }
const binding: StateBinding = { principal: 'p', method: 'tools/call', target: 'tool' }

const sealOf = (schema: string, now: { ms: number }, ...secrets: string[]): StateSeal =>
  new StateSeal(secrets, schema, { wallNow: () => now.ms, secret: randomBytes })
const sealAt = (now: { ms: number }, ...secrets: string[]): StateSeal => sealOf('default', now, ...secrets)

test('what is sealed opens as it was, here and wherever the key is', () => {
  const now = { ms: 1000 }
  const one = sealAt(now, 'secret')
  for (const state of [relay, parked, { ...relay, state: undefined }]) {
    const text = one.seal(state, binding, 10)
    assert.match(text, /^[A-Za-z0-9_-]+$/)
    assert.deepEqual(one.open(text, binding), { kind: 'opened', state })
    assert.deepEqual(sealAt(now, 'secret').open(text, binding), { kind: 'opened', state })
    assert.deepEqual(sealAt(now, 'new', 'secret').open(text, binding), { kind: 'opened', state })
    assert.deepEqual(sealAt(now, 'secret2').open(text, binding), { kind: 'refused', why: 'unknown' })
    assert.deepEqual(sealAt(now).open(text, binding), { kind: 'refused', why: 'unknown' })
  }
})

test('two processes without a secret do not open what the other has sealed, and two states are never the same', () => {
  const now = { ms: 0 }
  const [one, other] = [sealAt(now), sealAt(now)]
  assert.equal(one.open(one.seal(relay, binding, 1), binding).kind, 'opened')
  assert.equal(other.open(one.seal(relay, binding, 1), binding).kind, 'refused')
  assert.notEqual(one.seal(relay, binding, 1), one.seal(relay, binding, 1))
})

test('a state opens until its time is over', () => {
  const now = { ms: 0 }
  const seal = sealAt(now, 'k')
  const text = seal.seal(relay, binding, 300)
  now.ms = 299
  assert.equal(seal.open(text, binding).kind, 'opened')
  now.ms = 300
  assert.deepEqual(seal.open(text, binding), { kind: 'refused', why: 'expired' })
})

test('a state without a time opens for ever, and one of a schema in no other', () => {
  const now = { ms: 0 }
  const seal = sealAt(now, 'k')
  const text = seal.seal(parked, binding)
  now.ms = Number.MAX_SAFE_INTEGER
  assert.deepEqual(seal.open(text, binding), { kind: 'opened', state: parked })
  assert.deepEqual(sealOf('other', now, 'k').open(text, binding), { kind: 'refused', why: 'unknown' })
})

test('a state opens for its principal, method and target alone', () => {
  const seal = sealAt({ ms: 0 }, 'k')
  const text = seal.seal(relay, binding, 1)
  for (const other of [
    { principal: 'q' },
    { method: 'prompts/get' },
    { target: 'tool2' },
    { principal: 'p","tools/call', method: '' },
  ])
    assert.deepEqual(seal.open(text, { ...binding, ...other }), { kind: 'refused', why: 'unknown' })
})

test('a state that is changed in any byte, cut, or longer does not open', () => {
  const seal = sealAt({ ms: 0 }, 'k')
  const text = seal.seal(parked, binding, 1)
  const bytes = Buffer.from(text, 'base64url')
  for (let at = 0; at < bytes.length; at++)
    for (const bit of [0x01, 0x80]) {
      const changed = Buffer.from(bytes)
      changed[at] = (changed[at] ?? 0) ^ bit
      assert.equal(seal.open(changed.toString('base64url'), binding).kind, 'refused', `byte ${at}`)
    }
  for (let length = 0; length < text.length; length++)
    assert.equal(seal.open(text.slice(0, length), binding).kind, 'refused', `cut at ${length}`)
  for (const odd of [`${text}A`, `${text}AAAA`, `${text}=`, ` ${text}`, `${text}\n`, '', 'ä', '{}'])
    assert.equal(seal.open(odd, binding).kind, 'refused', odd)
})
