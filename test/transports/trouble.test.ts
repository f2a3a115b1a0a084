// What went wrong with a socket, in words.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { socketTrouble } from '../../src/transports/http-client/trouble.js'

/** As OpenSSL has it. */
function alert(words: string): string {
  return `write EPROTO 80CC:error:0A000410:SSL routines:ssl3_read_bytes:${words}:../rec_layer_s3.c:1601:SSL alert number 40\n`
}

const told: readonly [message: string, what: RegExp, remedy: RegExp | undefined][] = [
  [
    alert('tlsv13 alert certificate required'),
    /^it wants a certificate of who asks \(EPROTO\)$/,
    /"cert", "key"/,
  ],
  [alert('sslv3 alert handshake failure'), /^it refuses the handshake of TLS/, /may want a certificate/],
  [alert('sslv3 alert bad certificate'), /^it does not take our certificate/, /check that "tls"/],
  [alert('sslv3 alert certificate expired'), /^it does not take our certificate/, /check that "tls"/],
  [alert('tlsv1 alert unknown ca'), /^it does not take our certificate/, /check that "tls"/],

  [alert('tlsv1 unrecognized name'), /^it has no certificate for that name/, /"servername"/],
  [alert('tlsv1 alert protocol version'), /^it speaks no version of TLS that is good today/, /TLS 1\.2/],
  [alert('unexpected message'), /^TLS failed: unexpected message$/, undefined],
  ['something else', /^something else$/, undefined],
]

for (const [message, what, remedy] of told)
  test(`in words: ${message.slice(0, 90).trim()}`, () => {
    const trouble = socketTrouble(Object.assign(new Error(message), { code: 'EPROTO' }))
    assert.match(trouble.what, what)
    assert.equal(trouble.lasts, remedy !== undefined)
    assert.match(trouble.remedy ?? '', remedy ?? /^$/)
  })
