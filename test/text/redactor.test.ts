import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { Redactor } from '../../src/text/redactor.js'

const key = 'sk-live-0123456789'
const pem = `-----BEGIN KEY-----\n${'a'.repeat(20)}\n${'b'.repeat(20)}\n-----END KEY-----`

test('no secret is shown in any form, and no part of two that overlap', () => {
  const cases = [
    ['alone', [key], `bad key ${key}!`, 'bad key [redacted]!'],
    ['twice', [key], `${key} ${key}`, '[redacted] [redacted]'],
    ['in JSON', ['say "hi" to me'], String.raw`{"m":"say \"hi\" to me"}`, '{"m":"[redacted]"}'],
    ['a line of several', [pem], `got ${'b'.repeat(20)}.`, 'got [redacted].'],
    ['one in another', ['secret', 'a secret thing'], 'it is a secret thing', 'it is [redacted]'],
    ['overlapping', ['abcdefgh', 'fghijklm'], '<abcdefghijklm>', '<[redacted]>'],
    ['in hex', [key], `${Buffer.from(key).toString('hex')}.`, '[redacted].'],
    ['in base64', [key], `${Buffer.from(key).toString('base64')}.`, '[redacted].'],
    ['behind a user', [key], `Basic ${Buffer.from(`me:${key}`).toString('base64')}`, 'Basic bWU6[redacted]'],
    ['behind', [key], `Basic ${Buffer.from(`me2:${key}`).toString('base64')}`, 'Basic bWUyOn[redacted]Q=='],
    ['too short to look for', ['abc', ''], 'abc', 'abc'],
    ['a scheme whose variable is not set', ['Bearer '], 'Bearer ${TOKEN}', 'Bearer ${TOKEN}'],
  ] as const
  for (const [title, secrets, text, wanted] of cases)
    assert.equal(new Redactor(secrets).clean(text), wanted, title)
})

test('wherever a text is cut, no part of a secret is left that tells anything', () => {
  const redactor = new Redactor([key, `${key}-and-more`, pem])
  const text = `it said ${key}-and-more and then ${key} and ${pem} and more of it`
  for (let length = 0; length <= text.length; length++) {
    const shown = redactor.shown(text, length)
    assert.doesNotMatch(shown, /sk-l|0123|-and-|aaaa|bbbb|----/, `${length}: ${shown}`)
    assert(text.startsWith(shown.split('[redacted]')[0] ?? ''), shown)
  }
})

test('the end of a secret that ends like it begins is no part of the next one', () => {
  const redactor = new Redactor(['abcd-efgh-abcd'])
  assert.equal(redactor.beginning('key abcd-efgh-abcd'), 'key [redacted]')
})

test('a character that is cut shows no part either', () => {
  const redactor = new Redactor(['sëcret-ключ-ключ'])
  const bytes = Buffer.from('got sëcret-ключ-ключ')
  for (let length = 10; length < bytes.length; length++)
    assert.equal(redactor.beginning(bytes.toString('utf8', 0, length)), 'got [redacted]')
})

test('the owner is given what is added, once', () => {
  const added: string[] = []
  const redactor = new Redactor(['the given one'], (secrets) => added.push(...secrets))
  redactor.add('a session id')
  redactor.add('a session id')
  redactor.add('a cookie', 'a session id')
  assert.deepEqual(added, ['a session id', 'a cookie', 'a session id'])
})

test('what is learnt on the way is a secret from then on, and so many are remembered', () => {
  const redactor = new Redactor(['first-secret'])
  assert.equal(redactor.clean('first-secret learnt-00000'), '[redacted] learnt-00000')
  for (let nth = 0; nth <= 1000; nth++) redactor.add(`learnt-${String(nth).padStart(5, '0')}`)
  assert.equal(
    redactor.clean('first-secret learnt-00000 learnt-00001 learnt-01000'),
    '[redacted] learnt-00000 [redacted] [redacted]',
  )
})

test('a credential that is added is hidden in hex and base64 too, by its owner as well', () => {
  const secret = 'at-SECRET-1234567890+abc'
  const owner = new Redactor()
  const redactor = new Redactor([], (secrets) => owner.add(...secrets))
  redactor.addCredential(secret)
  for (const text of [secret, `u:${secret}`])
    for (const encoding of ['utf8', 'hex', 'base64', 'base64url'] as const)
      for (const each of [redactor, owner])
        assert.match(each.clean(Buffer.from(text).toString(encoding)), /\[redacted\]/)
})

test('a secret that is used again is not displaced, and its owner is given it again', () => {
  const added: string[] = []
  const redactor = new Redactor([], (secrets) => added.push(...secrets))
  for (let nth = 0; nth <= 2000; nth++) redactor.add('the token', `cookie-${nth}`)
  redactor.add('the token')
  assert.equal(redactor.clean('the token'), '[redacted]')
  const other = new Redactor()
  for (let nth = 0; nth <= 2000; nth++) {
    other.add('the token')
    other.add(`cookie-${nth}`)
  }
  assert.equal(other.clean('the token cookie-1 cookie-2000'), '[redacted] cookie-1 [redacted]')
})
