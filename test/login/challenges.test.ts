import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { bearerChallenge, scopesIn } from '../../src/login/challenges.js'

describe('the challenge of a server', () => {
  const cases: readonly [readonly string[], Readonly<Record<string, string>> | undefined][] = [
    [[], undefined],
    [['Basic realm="x"'], undefined],
    [['Bearer'], {}],
    [['bearer realm="a, b", scope="read write"'], { realm: 'a, b', scope: 'read write' }],
    [['Bearer scope=read,error="invalid_token"'], { scope: 'read', error: 'invalid_token' }],
    [['Basic realm="Bearer x", Bearer scope="r", Digest nonce="1"'], { scope: 'r' }],
    [['Negotiate', 'Bearer Resource_Metadata = "https://h/x"'], { resource_metadata: 'https://h/x' }],
    [[String.raw`Bearer realm="a \"b\" \\ c"`], { realm: String.raw`a "b" \ c` }],
    [['Basic a==, Bearer scope="r"'], { scope: 'r' }],
    [['Bearer scope="unfinished'], {}],
  ]
  for (const [fields, wanted] of cases)
    test(JSON.stringify(fields), () => {
      const found = bearerChallenge(fields)
      assert.deepEqual(found && Object.fromEntries(found), wanted)
    })

  test('is read in time that grows with its length alone', () => {
    assert.equal(bearerChallenge([`Bearer ${'a='.repeat(30_000)}`])?.get('a'), 'a')
  })
})

test('scopes are joined, each once', () => {
  assert.deepEqual(scopesIn('a b', undefined, ' b  c '), ['a', 'b', 'c'])
})
