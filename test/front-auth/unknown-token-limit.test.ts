// How many unknown tokens of one network an authorization server is asked about.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { REFUSED_MAX, UnknownTokenLimit } from '../../src/front-auth/front-auth.js'

test('tokens that were accepted do not count', () => {
  const limit = new UnknownTokenLimit(() => 0)
  for (let token = 0; token <= REFUSED_MAX; token++) {
    assert(limit.admit('a'))
    limit.accepted('a')
  }
})

test('a thousand networks are counted, and the oldest count makes room', () => {
  const limit = new UnknownTokenLimit(() => 0)
  for (let token = 0; token < REFUSED_MAX; token++) limit.admit('first')
  for (let network = 1; network < 1000; network++) limit.admit(String(network))
  assert.equal(limit.admit('first'), false)
  limit.admit('one more')
  assert.equal(limit.admit('first'), true)
})
