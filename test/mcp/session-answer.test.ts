// What becomes of the result of a stateless server on the way to a client of a session.

import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { readFrame } from '../../src/jsonrpc/frame.js'
import { toLine } from '../../src/jsonrpc/line.js'
import { inOrder, splice } from '../../src/jsonrpc/splice.js'
import { Call } from '../../src/calls/call.js'
import { CallDeadline } from '../../src/calls/call-deadline.js'
import { sessionAnswer } from '../../src/mcp/eras/results.js'
import { requests } from '../../src/mcp/methods.js'
import { nobody } from '../upstream/support/calls.js'

const type = '"resultType":"complete"'
const server = '"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}}'

interface Told {
  readonly method?: string
  readonly isWrapped?: boolean
  readonly given: string
  /** The result, or a part of the error. */
  readonly want: string
}

const cases: readonly (readonly [title: string, told: Told])[] = [
  ['the type goes', { given: `{${type},"content":[]}`, want: '{"content":[]}' }],
  ['so it does alone', { given: `{${type}}`, want: '{}' }],
  ['and among spaces', { given: `{${type} , "content":[ ]}`, want: '{"content":[ ]}' }],
  ['and in another place', { given: `{"content":[],${type}}`, want: '{"content":[]}' }],
  ['and between others', { given: `{"a":1,${type},"b":2}`, want: '{"a":1,"b":2}' }],
  ['and behind spaces', { given: `{"a":1 , ${type} }`, want: '{"a":1 }' }],
  ['and before a comma in a line of its own', { given: `{"a":1 ,${type} ,"b":2}`, want: '{"a":1 ,"b":2}' }],
  ['and written in another way', { given: '{"a":1,"resultType":"compl\\u0065te"}', want: '{"a":1}' }],
  ['also where it stands twice', { given: `{${type},"a":1,${type}}`, want: '{"a":1}' }],
  ['what has none passes', { given: '{"content":[]}', want: '{"content":[]}' }],
  ['another type does not', { given: '{"resultType":"x","a":1}', want: "a result of the type 'x'" }],
  ['the name of the server goes', { given: `{${type},"a":1,${server}}`, want: '{"a":1}' }],
  ['and between others', { given: `{${server}, "a":1,${type}}`, want: '{"a":1}' }],
  ['where nothing else is said', { given: `{${type},${server}}`, want: '{}' }],
  [
    'but not what stands beside it in _meta',
    { given: `{${server.replace('{', '{"b":1,')},"a":1,${type}}`, want: '{"_meta":{"b":1},"a":1}' },
  ],
  ['nor an empty _meta of its own', { given: `{${type},"_meta":{}}`, want: '{"_meta":{}}' }],
  [
    'and no more of what stands beside it',
    { given: `{${type},"_meta":{"b":1},"ttlMs":1}`, want: '{"_meta":{"b":1},"ttlMs":1}' },
  ],
  [
    'hints go from what is read',
    {
      method: 'resources/read',
      given: `{${type},"ttlMs":0,"cacheScope":"private","contents":[]}`,
      want: '{"contents":[]}',
    },
  ],
  [
    'a value that is no object becomes a member of one',
    {
      isWrapped: true,
      given: `{${type},"structuredContent":[1]}`,
      want: '{"structuredContent":{"result":[1]}}',
    },
  ],
  [
    'but not where it should be one',
    { given: `{${type},"structuredContent":{}}`, want: '{"structuredContent":{}}' },
  ],
]

for (const [title, { method = 'tools/call', isWrapped = false, given, want }] of cases)
  test(title, () => {
    const frame = readFrame(toLine(`{"jsonrpc":"2.0","id":1,"result":${given}}`))
    const asked = readFrame(toLine(`{"jsonrpc":"2.0","id":1,"method":"${method}"}`))
    const row = requests.get(method)
    assert(frame.kind === 'result' && asked.kind === 'request' && row !== undefined)
    const call = new Call(asked, row, nobody, new CallDeadline(0), { settled: () => {} })
    call.isWrapped = isWrapped
    const answer = sessionAnswer(call, frame)
    if (answer.kind === 'edited') {
      const said = splice(frame.line, inOrder(answer.edits)).toString()
      assert.equal(said, `{"jsonrpc":"2.0","id":1,"result":${want}}`)
    } else assert(answer.kind === 'error' && answer.error.message.includes(want))
  })
