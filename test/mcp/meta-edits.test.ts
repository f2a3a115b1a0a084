// The trace context of a call in `_meta`, together with other edits.

import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { canonical } from '../../src/jsonrpc/request-id.js'
import { type Edit, NO_EDITS, inOrder, splice, withId } from '../../src/jsonrpc/splice.js'
import { sessionWriter, StatelessWriter } from '../../src/mcp/eras/server-writers.js'
import { latestStateless } from '../../src/mcp/revisions.js'
import { requestEdits } from '../../src/mcp/meta-edits.js'
import { at, parsed } from '../integration/support/json.js'
import { callOf } from '../upstream/support/calls.js'
import { requestOf } from '../jsonrpc/support/frames.js'

const TRACE = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
const OLD = '00-11111111111111111111111111111111-2222222222222222-00'
const identity = { name: 'p', version: '1' }
const writer = new StatelessWriter(identity, () => {})
const template =
  '"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}'

const legs = {
  'as it is': (call) => requestEdits(call, NO_EDITS, []),
  'for a server without sessions': (call) => writer.edits(call),
  'for a server with sessions': (call) =>
    sessionWriter.edits(Object.assign(call, { context: { ...call.context, revision: latestStateless } })),
} satisfies Record<string, (call: ReturnType<typeof callOf>) => readonly Edit[]>

const params: readonly (string | undefined)[] = [
  undefined,
  '{}',
  '{"name":"t"}',
  ' { "name" : "t" , "arguments" : { } } ',
  '{"inputResponses":{},"name":"t","requestState":"s"}',
  '{"_meta":{},"name":"t"}',
  '{"name":"t","_meta": { } }',
  `{"_meta":{${template}}}`,
  `{"_meta":{${template},"progressToken":1},"name":"t"}`,
  `{"_meta":{"progressToken":1,${template},"tracestate":"a=b"}}`,
  `{"_meta":{"traceparent":"${OLD}","tracestate":"a=b"},"name":"t"}`,
  `{"_meta":{${template},"traceparent":"${OLD}"}}`,
  `{"_meta":{"\\u0074raceparent":"${OLD}","baggage":"x"}}`,
  '{"_meta":{"traceparent":7}}',
]

/** The message without the trace context, and without an empty `_meta` or `params`. */
function untraced(message: unknown): unknown {
  const { traceparent: _, ...meta } = Object(at(message, 'params', '_meta'))
  const rest = { ...Object(at(message, 'params')), _meta: meta }
  if (Object.keys(meta).length === 0) delete rest._meta
  return { ...Object(message), params: Object.keys(rest).length === 0 ? undefined : rest }
}

for (const [title, edits] of Object.entries(legs))
  for (const text of params)
    for (const isFirst of [true, false])
      test(`${title}: ${text ?? 'no params'}, the id ${isFirst ? 'first' : 'last'}`, () => {
        const body = text === undefined ? '' : `,"params":${text}`
        const line = isFirst
          ? `{"jsonrpc":"2.0","id":1,"method":"tools/call"${body}}`
          : `{"jsonrpc":"2.0","method":"tools/call"${body},"id":1}`
        const call = callOf('1', 0)
        const frame = requestOf(line)
        call.frame = frame
        const plain = edits(call)
        const result = (all: readonly Edit[]): string =>
          splice(frame.line, inOrder(withId(all, frame, canonical(frame.id)))).toString()
        call.trace = { traceparent: TRACE }
        const traced = edits(call)
        const message = parsed(result(traced))
        assert.equal(at(message, 'params', '_meta', 'traceparent'), TRACE)
        assert.deepEqual(untraced(message), untraced(parsed(result(plain))))
        assert(!result(traced).includes(OLD))
        const found = new Set(traced.filter((edit) => edit.why !== 'trace').map(({ why }) => why))
        assert.deepEqual(found, new Set(plain.map(({ why }) => why)))
      })

test('a `_meta` that is no object has no trace', () => {
  const frame = requestOf('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":null}}')
  assert.equal(requestEdits({ frame, trace: { traceparent: TRACE } }, NO_EDITS, []), NO_EDITS)
})
