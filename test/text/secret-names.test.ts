import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { escapeOutput } from '../../src/text/escape.js'
import { isSecretName, isSecretParameter, withoutSecretMembers } from '../../src/text/secret-names.js'

test('a name counts by whole words', () => {
  const secret = `token api_key apiKey APIKey X-Api-Key OPENAI_KEY password userPassword Authorization
    set-cookie client_secret aws-secret-access-key GITHUB_PAT credentials privateKey accesstoken`
  const public_ = `tokenizer keyboard key monkey sort_key primaryKey max_tokens maxTokens passenger author
    path pattern progressToken next_page_token authority secretary compass`
  for (const name of secret.split(/\s+/)) assert(isSecretName(name), name)
  for (const name of public_.split(/\s+/)) assert(!isSecretName(name), name)
  for (const name of ['key', 'code', 'sig', 'X-Amz-Signature', 'sessionId', 'token'])
    assert(isSecretParameter(name), name)
  for (const name of ['keyword', 'encoding', 'design']) assert(!isSecretParameter(name), name)
})

test('JSON has no value of such a member', () => {
  const cases = [
    ['a string', '{"api_key": "a\\"b","c":"d"}', '{"api_key": "[redacted]","c":"d"}'],
    ['a number', '{"password":-12.5e3}', '{"password":"[redacted]"}'],
    ['a string without an end', '{"token":"abc', '{"token":"[redacted]'],
    ['inside a text', '{"t":"{\\"secret\\":\\"x\\"}"}', '{"t":"{\\"secret\\":\\"[redacted]\\"}"}'],
    ['a name with blanks', '{"my password":"x"}', '{"my password":"[redacted]"}'],
    ['an object', '{"token":{"type":"string"}}', '{"token":{"type":"string"}}'],
    ['a part of a word', '{"tokenizer":"bpe"}', '{"tokenizer":"bpe"}'],
  ] as const
  for (const [title, json, want] of cases) assert.equal(withoutSecretMembers(json), want, title)
})

test('an output keeps its lines and colours, and has no other control of a terminal', () => {
  assert.equal(
    escapeOutput('\u001b[31mred\u001b[0m\t{"a":"\u009b2J\u202e\u{e0041}"}\n'),
    '\u001b[31mred\u001b[0m\t{"a":"\\u009b2J\\u202e\\udb40\\udc41"}\n',
  )
})
