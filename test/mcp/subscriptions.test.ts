// Subscriptions of clients without a session, and their notifications.

import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { numericId } from '../../src/jsonrpc/request-id.js'
import { splice } from '../../src/jsonrpc/splice.js'
import { acknowledgement, isFilter, readFilter, subscriptionEdits } from '../../src/mcp/subscription-edits.js'
import { notificationOf, requestOf } from '../jsonrpc/support/frames.js'

function resource(name: string): object {
  return { kind: 'resourceSubscriptions', name }
}

const filters: readonly (readonly [given: string, want: object | undefined])[] = [
  ['{}', { lists: [], topics: [] }],
  ['{"toolsListChanged":true}', { lists: ['tools'], topics: [] }],
  [
    '{"toolsListChanged":false,"promptsListChanged":true,"resourcesListChanged":true,"taskIds":["t","t"]}',
    { lists: ['prompts', 'resources', 'templates'], topics: [{ kind: 'taskIds', name: 't' }] },
  ],
  [
    '{"resourceSubscriptions":["a:/b","a:/\\u0063","a:/b"]}',
    { lists: [], topics: [resource('a:/b'), resource('a:/c')] },
  ],
  ['[]', undefined],
  ['{"toolsListChanged":1}', undefined],
  ['{"toolsListChanged":null}', undefined],
  ['{"resourceSubscriptions":"a:/b"}', undefined],
  ['{"resourceSubscriptions":["a:/b",1]}', undefined],
  ['{"taskIds":"t"}', undefined],
  ['{"taskIds":["t",1]}', undefined],
]

for (const [given, want] of filters)
  test(`a filter: ${given}`, () => {
    const method = 'subscriptions/listen'
    const frame = requestOf(
      `{"jsonrpc":"2.0","id":1,"method":"${method}","params":{"notifications":${given}}}`,
    )
    const read = readFilter(frame)
    if (want === undefined) assert(!isFilter(read) && read.code === -32602)
    else assert.deepEqual(read, want)
  })

test('a filter is acknowledged with the granted part', () => {
  const heard = {
    lists: ['tools', 'resources', 'templates'],
    topics: [
      { kind: 'resourceSubscriptions', name: 'a:/b' },
      { kind: 'taskIds', name: 't' },
    ],
  } as const
  const said =
    '{"toolsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["a:/b"],"taskIds":["t"]}'
  const meta = '"_meta":{"io.modelcontextprotocol/subscriptionId":7}'
  assert.equal(acknowledgement(numericId(7), heard), `{"notifications":${said},${meta}}`)
})

const key = '"io.modelcontextprotocol/subscriptionId"'
const marked: readonly (readonly [given: string, want: string])[] = [
  ['{"uri":"a:/b"}', `{"_meta":{${key}:7},"uri":"a:/b"}`],
  ['{}', `{"_meta":{${key}:7}}`],
  ['{"uri":"a:/b","_meta":{}}', `{"uri":"a:/b","_meta":{${key}:7}}`],
  ['{"_meta":{"x":1.0},"uri":"a:/b"}', `{"_meta":{${key}:7,"x":1.0},"uri":"a:/b"}`],
  [`{"_meta":{"x":1,${key}:"theirs"}}`, `{"_meta":{${key}:7,"x":1}}`],
  ['{"_meta":null,"uri":"a:/b"}', `{"_meta":{${key}:7},"uri":"a:/b"}`],
]

const text = (params: string): string =>
  `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":${params}}`

for (const [given, want] of marked)
  test(`a notification of a subscription says to which it belongs: ${given}`, () => {
    const frame = notificationOf(text(given))
    assert.equal(splice(frame.line, subscriptionEdits(frame, numericId(7))).toString(), text(want))
  })
