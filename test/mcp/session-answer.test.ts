// The conversion of results of a stateless server for a client with a session.

import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { inOrder, splice } from '../../src/jsonrpc/splice.js'
import { sessionAnswer } from '../../src/mcp/eras/results.js'
import { resultOf } from '../jsonrpc/support/frames.js'
import { callOf } from '../upstream/support/calls.js'

const type = '"resultType":"complete"'
const server = '"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}}'

interface More {
  readonly method?: string
  readonly isWrapped?: boolean
}

/** The result of the server, and the result for the client or a part of the error. */
const cases: readonly (readonly [title: string, given: string, want: string, more?: More])[] = [
  ['the type goes', `{${type},"content":[]}`, '{"content":[]}'],
  ['so it does alone', `{${type}}`, '{}'],
  ['and among spaces', `{${type} , "content":[ ]}`, '{"content":[ ]}'],
  ['and in another place', `{"content":[],${type}}`, '{"content":[]}'],
  ['and between others', `{"a":1,${type},"b":2}`, '{"a":1,"b":2}'],
  ['and behind spaces', `{"a":1 , ${type} }`, '{"a":1 }'],
  ['and before a comma in a line of its own', `{"a":1 ,${type} ,"b":2}`, '{"a":1 ,"b":2}'],
  ['and written in another way', '{"a":1,"resultType":"compl\\u0065te"}', '{"a":1}'],
  ['also where it stands twice', `{${type},"a":1,${type}}`, '{"a":1}'],
  ['what has none passes', '{"content":[]}', '{"content":[]}'],
  ['another type does not', '{"resultType":"x","a":1}', "a result of the type 'x'"],
  ['the name of the server goes', `{${type},"a":1,${server}}`, '{"a":1}'],
  ['and between others', `{${server}, "a":1,${type}}`, '{"a":1}'],
  ['where nothing else is said', `{${type},${server}}`, '{}'],
  ['but not its neighbours', `{${server.replace('{', '{"b":1,')},"a":1,${type}}`, '{"_meta":{"b":1},"a":1}'],
  ['nor an empty _meta of its own', `{${type},"_meta":{}}`, '{"_meta":{}}'],
  ['and no more of its neighbours', `{${type},"_meta":{"b":1},"ttlMs":1}`, '{"_meta":{"b":1},"ttlMs":1}'],
  [
    'hints go from what is read',
    `{${type},"ttlMs":0,"cacheScope":"private","contents":[]}`,
    '{"contents":[]}',
    { method: 'resources/read' },
  ],
  [
    'a value that is no object becomes a member of one',
    `{${type},"structuredContent":[1]}`,
    '{"structuredContent":{"result":[1]}}',
    { isWrapped: true },
  ],
  ['but not where it should be one', `{${type},"structuredContent":{}}`, '{"structuredContent":{}}'],
]

for (const [title, given, want, { method = 'tools/call', isWrapped = false } = {}] of cases)
  test(title, () => {
    const frame = resultOf(`{"jsonrpc":"2.0","id":1,"result":${given}}`)
    const call = callOf('1', 0, { method })
    call.isWrapped = isWrapped
    const answer = sessionAnswer(call, frame)
    if (answer.kind === 'edited') {
      const said = splice(frame.line, inOrder(answer.edits)).toString()
      assert.equal(said, `{"jsonrpc":"2.0","id":1,"result":${want}}`)
    } else assert(answer.kind === 'error' && answer.error.message.includes(want))
  })
