// Socket errors: the text and code of the kernel, and a remedy for lasting failures.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HttpSyntaxError } from '../../src/transports/http1/head.js'
import { socketTrouble } from '../../src/transports/http1/trouble.js'

function alert(words: string): string {
  return `write EPROTO 80CC:error:0A000410:SSL routines:ssl3_read_bytes:${words}:../rec_layer_s3.c:1601:SSL alert number 40\n`
}

const told: readonly [code: string, message: string, what: string, remedy: RegExp | undefined][] = [
  ['ECONNREFUSED', 'connect ECONNREFUSED 127.0.0.1:9', 'connect ECONNREFUSED 127.0.0.1:9', undefined],
  ['ENOTFOUND', 'getaddrinfo ENOTFOUND a.test', 'getaddrinfo ENOTFOUND a.test', undefined],
  ['ECONNRESET', 'socket hang up', 'socket hang up (ECONNRESET)', undefined],
  ['', 'something else', 'something else', undefined],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'self-signed', 'self-signed (DEPTH_ZERO_SELF_SIGNED_CERT)', /_CA_CERTS/],
  ['CERT_HAS_EXPIRED', 'it expired', 'it expired (CERT_HAS_EXPIRED)', /clock/],
  ['EPROTO', alert('wrong version number'), 'TLS failed: wrong version number (EPROTO)', /with http:\/\/$/],
  [
    'EPROTO',
    alert('tlsv13 alert certificate required'),
    'TLS failed: tlsv13 alert certificate required (EPROTO)',
    /"cert", "key"/,
  ],
]

for (const [code, message, what, remedy] of told)
  test(`${code} ${message.slice(0, 90).trim()}`, () => {
    const error = new Error(message)
    const trouble = socketTrouble(code === '' ? error : Object.assign(error, { code }))
    assert.equal(trouble.message, what)
    assert.match(trouble.remedy ?? '', remedy ?? /^$/)
  })

test('what is no HTTP may be TLS, and an answer that cannot be read is no matter of the address', () => {
  const none = socketTrouble(new HttpSyntaxError('it does not begin as HTTP/1 does', 'NOT_HTTP'))
  assert.match(none.remedy ?? '', /begins with https:\/\/$/)
  const bad = socketTrouble(new HttpSyntaxError('two lengths'))
  assert.deepEqual([bad.message, bad.remedy], ['its answer cannot be read: two lengths', undefined])
})
