import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bearerChallenge, moreScopes, scopesIn } from '../../src/login/challenges.js'

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
  test(`the challenge of a server: ${JSON.stringify(fields)}`, () => {
    const found = bearerChallenge(fields)
    assert.deepEqual(found && Object.fromEntries(found), wanted)
  })

test('the challenge of a server is read in time that grows with its length alone', () =>
  assert.equal(bearerChallenge([`Bearer ${'a='.repeat(30_000)}`])?.get('a'), 'a'))

test('scopes are joined, each once', () =>
  assert.deepEqual(scopesIn('a b', undefined, ' b  c '), ['a', 'b', 'c']))

const wants = (scope: string) => bearerChallenge([`Bearer error="insufficient_scope", scope="${scope}"`])

const many = Array.from({ length: 101 }, (_, at) => `s${at}`)
const steps: readonly [string, readonly string[], ReturnType<typeof wants>, number | undefined][] = [
  ['are asked for beside those of before', ['read'], wants('write read'), 2],
  ['that were asked for before are not asked for again', ['read'], wants('read'), undefined],
  ['that have no name are not asked for', ['read'], wants(''), undefined],
  ['are 100 at most, beside those of the login', ['read'], wants(many.slice(1).join(' ')), 101],
  ['beyond 100 are not asked for', [], wants(many.join(' ')), undefined],
]
for (const [title, asked, challenge, count] of steps)
  test(`more rights: ${title}`, () => assert.equal(moreScopes(asked, challenge)?.length, count))
