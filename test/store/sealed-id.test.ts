// Ids that were made for one owner with one key, in the hands of others.

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'
import { SealedIds } from '../../src/store/sealed-id.js'
import type { SealedFacts } from '../../src/transports/http-server/session-ids.js'

const HOUR_MS = 3_600_000
const owner = { endpoint: { name: 'default' }, principal: 'ci', credential: 'first' }
const facts: SealedFacts = {
  revision: '2025-11-25',
  name: 'a "client"\nof two lines',
  version: undefined,
  capabilities: '{"roots":{ "listChanged" : 1e2},"roots":{}}',
  isBound: false,
}

function sealedIds(keys: readonly string[], nowMs = 0, label = 'web-1'): SealedIds {
  const runtime = { wallNow: () => nowMs, secret: randomBytes }
  return new SealedIds({ keys: () => keys, label, maxAgeMs: () => HOUR_MS, runtime })
}

const [key, other] = ['the key of all instances', 'the key of other ones']
const id = sealedIds([key]).seal(facts, owner) ?? ''

const opens: [string, SealedIds, string][] = [
  ['in the process that made it', sealedIds([key]), id],
  ['in another instance', sealedIds([key], 0, 'web-2'), id],
  ['with the key before the present one', sealedIds([other, key]), id],
  ['until it is too old', sealedIds([key], HOUR_MS), id],
  ['where a clock is a little behind', sealedIds([key], -1000), id],
]

const foreign: [string, SealedIds, string, typeof owner?][] = [
  ['with another key', sealedIds([other]), id],
  ['when it is too old', sealedIds([key], HOUR_MS + 1), id],
  ['before its time', sealedIds([key], -HOUR_MS), id],
  ['of another principal', sealedIds([key]), id, { ...owner, principal: 'CI' }],
  ['of another token of the principal', sealedIds([key]), id, { ...owner, credential: 'second' }],
  ['at another endpoint', sealedIds([key]), id, { ...owner, endpoint: { name: 'p/review' } }],
  ['of no process', sealedIds([key]), id.slice(id.indexOf('.'))],
  ['with another label', sealedIds([key]), id.replace('web-1', 'web-2')],
  ['in another spelling', sealedIds([key]), `${id}=`],
  ['with more behind it', sealedIds([key]), `${id}AAAA`],
  ['that is no id of this form', sealedIds([key]), randomBytes(24).toString('base64url')],
  ['that is empty', sealedIds([key]), ''],
  ['that is a label', sealedIds([key]), 'web-1.'],
]

describe('a sealed id', () => {
  for (const [title, ids, text] of opens)
    test(`opens ${title}`, () => assert.deepEqual(ids.open(text, owner), facts))

  for (const [title, ids, text, whose = owner] of foreign)
    test(`does not open ${title}`, () => assert.equal(ids.open(text, whose), undefined))

  test('begins with its label, has the characters of a header field, and no part of what it says', () => {
    assert.match(id, /^web-1\.[\w-]+$/)
    assert(!id.includes('roots'))
    assert.notEqual(sealedIds([key]).seal(facts, owner), id)
  })

  test('has up to 1,024 characters', () => {
    const lengths = [400, 500, 600, 640, 660, 680, 700, 720, 800].map(
      (length) => sealedIds([key]).seal({ ...facts, capabilities: 'x'.repeat(length) }, owner)?.length,
    )
    assert(lengths.every((length) => length === undefined || length <= 1024))
    assert(lengths.includes(undefined) && lengths.some((length) => (length ?? 0) > 950), String(lengths))
  })

  test('has the key of now, which changes while the process runs', () => {
    let keys = [key]
    const runtime = { wallNow: () => 0 }
    const ids = new SealedIds({ keys: () => keys, label: 'a', maxAgeMs: () => HOUR_MS, runtime })
    const before = ids.seal(facts, owner) ?? ''
    keys = [other]
    assert.equal(ids.open(before, owner), undefined)
    assert.deepEqual(sealedIds([other]).open(ids.seal(facts, owner) ?? '', owner), facts)
  })
})
