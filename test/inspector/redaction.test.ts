// The parts of a message that no page gets.

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { describe, test } from 'node:test'
import { lineOf } from '../../src/inspector/frame-view.js'
import { MessageRedactor } from '../../src/inspector/redaction.js'
import { Scene, client } from './support.js'

const redactor = new MessageRedactor(true)
redactor.addSecrets(['sésame-open', 'short', '123456789'])

const clean = (text: string, isCut = false): string => redactor.clean(Buffer.from(text), isCut).toString()

describe('a message', () => {
  const cases: [text: string, want: string][] = [
    ['{"a":"sésame-open"}', '{"a":"[redacted]"}'],
    ['{"a":"s%C3%A9same-open"}', '{"a":"[redacted]"}'],
    ['{"a":"short"}', '{"a":"short"}'],
    ['{"a":[123456789]}', '{"a":[[redacted]]}'],
    ['{"a": 123456789}', '{"a": "[redacted]"}'],
    ['{"password":"p \\" q","user":"u"}', '{"password":"[redacted]","user":"u"}'],
    ['{"API_KEY":42}', '{"API_KEY":"[redacted]"}'],
    ['{"token":"","b":1}', '{"token":"","b":1}'],
    ['{"access_token" : "x", "aToken":"y"}', '{"access_token" : "[redacted]", "aToken":"[redacted]"}'],
    ['{"progressToken":5,"maxTokens":100}', '{"progressToken":5,"maxTokens":100}'],
    ['{"token":{"type":"string"}}', '{"token":{"type":"string"}}'],
    ['{"text":"{\\"secret\\":\\"x\\",\\"a\\":1}"}', '{"text":"{\\"secret\\":\\"[redacted]\\",\\"a\\":1}"}'],
    ['{"h":"Bearer abcdefghijklmnopqrstuvwxyz"}', '{"h":"Bearer [redacted]"}'],
    ['{"u":"https://me:pw@h/"}', '{"u":"https://me:[redacted]@h/"}'],
  ]
  for (const [text, want] of cases) test(text, () => assert.equal(clean(text), want))

  test('that is cut within a secret shows no beginning of it', () => {
    assert.equal(clean('{"a":"sésame', true), '{"a":"[redacted]')
    assert.equal(clean('{"password":"begi', true), '{"password":"[redacted]')
    assert.equal(clean('{"a":"sésame'), '{"a":"sésame')
  })

  test('is without the secrets of the configuration, however many its server hands out', () => {
    const full = new MessageRedactor(true)
    full.addSecrets(['configured-secret'])
    for (let nth = 0; nth <= 1000; nth++) full.learnSecrets([`cookie-${nth + 1000}`])
    const found = full.cleanText('configured-secret cookie-1000 cookie-2000')
    assert.equal(found, '[redacted] cookie-1000 [redacted]')
  })

  test('is as it was where nothing is to be taken out', () => {
    const off = new MessageRedactor(false)
    off.addSecrets(['sésame-open'])
    const found = off.clean(Buffer.from('{"token":"sésame-open"}'), false).toString()
    assert.equal(found, '{"token":"sésame-open"}')
  })
})

test('names, texts and lines of recordings are without secrets', () => {
  const scene = new Scene()
  scene.redactor.addSecrets(['the-secret'])
  scene.wire(client, 'in', '{"jsonrpc":"2.0","id":1,"method":"m","params":{"uri":"x:the-secret"}}\n')
  const frame = scene.ring.get(1)
  assert(frame !== undefined)
  const shown = JSON.stringify(scene.rowOf(frame)) + lineOf(frame, scene.redactor).toString()
  assert.doesNotMatch(shown, /the-secret/)
  assert.match(shown, /x:\[redacted\]/)
})
