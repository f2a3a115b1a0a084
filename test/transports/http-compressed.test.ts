// Some servers compress although no request accepts that. The call fails with the reason and the remedy.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Redactor } from '../../src/text/redactor.js'
import { answerOf, called, scripted } from './support/scripted.js'

type Fields = string | readonly string[]

/** The `Content-Encoding` fields of an answer, its status, and the error. */
const cases: readonly (readonly [fields: Fields, status: number, told: string])[] = [
  ['gzip', 200, 'its answer is compressed (gzip) although none is asked for'],
  ['gzip, br', 200, 'its answer is compressed (gzip, br) although none is asked for'],
  [['identity', 'gzip'], 200, 'its answer is compressed (identity, gzip) although none is asked for'],
  // A value that only the server and the proxy know may be a secret.
  ['hunter-22-x', 200, 'its answer is compressed ([redacted]) although none is asked for'],
  ['gzip', 500, 'it answered HTTP 500'],
  ['identity', 200, ''],
]

for (const type of ['application/json', 'text/event-stream'])
  for (const [fields, status, told] of cases)
    test(`${type} with HTTP ${status}, compressed with ${String(fields)}`, async (t) => {
      const { url, seen } = await scripted(t, ({ id }, response) => {
        const answer = answerOf(id)
        response.setHeader('content-encoding', fields)
        response.writeHead(status, { 'content-type': type })
        response.end(type === 'application/json' ? answer : `data: ${answer}\n\n`)
      })
      const { heard } = await called(t, url, { redactor: new Redactor(['hunter-22-x']) })
      assert.deepEqual(heard.messages, told === '' ? [answerOf(1)] : [])
      const said = heard.failures[0]?.error.message ?? ''
      assert.ok(said.startsWith(told), said)
      assert.equal(seen[0]?.headers['accept-encoding'], 'identity')
    })
