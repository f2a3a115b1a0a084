import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { type RequestFrame, readFrame } from '../../src/jsonrpc/frame.js'
import { toLine } from '../../src/jsonrpc/line.js'
import { splice, withId } from '../../src/jsonrpc/splice.js'
import type { Outcome } from '../../src/calls/call.js'
import { ClientLeg } from '../../src/mcp/eras/client-leg.js'
import { type ClientWriter, answerOf } from '../../src/mcp/eras/results.js'
import { latestStateless, sessionRevisions } from '../../src/mcp/revisions.js'
import { callOf, nobody } from '../upstream/support/calls.js'
import { requestOf, resultOf } from '../jsonrpc/support/frames.js'

const leg = (version?: string): ClientLeg =>
  new ClientLeg({ name: 'p', version: '1' }, { origin: { version }, principal: 'somebody' })

for (const { version, orphanId } of sessionRevisions)
  test(`an error that answers no id is said as ${version} has it`, () => {
    const said = leg(version).refusal(undefined, { code: -32700, message: 'no' }).toString()
    assert.equal(said.includes('"id":null'), orphanId === 'null')
    assert.match(said, /"code":-32700/)
  })

/** Forwards as a peer does, to a client whose id is that of the call. */
const writer: ClientWriter = {
  answerBytes: (frame, edits, id) => splice(frame.line, withId(edits, frame, id)),
}

function answered(text: string): Outcome {
  const frame = readFrame(toLine(text))
  assert(frame.kind === 'result' || frame.kind === 'error')
  return { kind: 'answered', frame, edits: [], era: 'session' }
}

const result = '{ "jsonrpc":"2.0","result":{"content":[ ]},"id":7}'
const error = '{"jsonrpc":"2.0","id":7,"error":{"code":-32000,"message":"no", "data":1}}'

const answers: readonly (readonly [title: string, outcome: Outcome, answer: string | undefined])[] = [
  ["a result keeps its bytes and has the client's id", answered(result), result.replace('7', '"a"')],
  ["an error keeps its bytes and has the client's id", answered(error), error.replace('7', '"a"')],
  [
    'a result of the proxy leaves as it is',
    { kind: 'result', result: '{"tools":[]}' },
    '{"jsonrpc":"2.0","id":"a","result":{"tools":[]}}',
  ],
  [
    'a call that failed is refused with its error',
    { kind: 'failed', error: { code: -32603, message: 'gone' } },
    '{"jsonrpc":"2.0","id":"a","error":{"code":-32603,"message":"gone"}}',
  ],
  ['a client that has cancelled gets no answer', { kind: 'cancelled' }, undefined],
]

for (const [title, outcome, want] of answers)
  test(`with a session, ${title}`, () => {
    const answer = answerOf(callOf('"a"', 0), outcome, writer)
    const text = answer && answer.message.toString().trimEnd()
    assert.equal(text, want)
    assert.equal(answer?.kind, text === undefined ? undefined : readFrame(toLine(text)).kind)
  })

const PREFIX = 'io.modelcontextprotocol'

interface Said {
  readonly version?: string
  readonly level?: string
  readonly token?: string
  readonly capabilities?: string
}

function read({
  version = '2026-07-28',
  level = 'error',
  token = '1',
  capabilities = '',
}: Said): RequestFrame {
  const meta = `{"progressToken":${token},"${PREFIX}/protocolVersion":"${version}","${PREFIX}/clientCapabilities":{${capabilities}},"${PREFIX}/logLevel":"${level}"}`
  const text = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","_meta":${meta}}}`
  return requestOf(text)
}

test('requests that say the same of themselves have one context', () => {
  const client = leg()
  const contexts = ['1', '2', '40', '"a"'].map((token) => {
    const received = client.received(read({ token }))
    assert('row' in received && received.context !== undefined)
    return received.context
  })
  assert.equal(new Set(contexts).size, 1)
})

test('requests that differ in what they say of themselves are taken at their word', () => {
  const client = leg()
  for (const level of ['debug', 'info', 'error', 'alert', 'error', 'debug']) {
    const frame = read({ level })
    const received = client.received(frame)
    assert('row' in received)
    assert.equal(received.context?.logLevel, level)
  }
  for (const name of ['roots', 'sampling', 'roots']) {
    const received = client.received(read({ capabilities: `"${name}":{}` }))
    assert('row' in received)
    assert.deepEqual([...(received.context?.capabilities.names ?? [])], [name])
  }
})

test('a revision that is none is refused among others that differ in it', () => {
  const client = leg()
  for (const version of ['2026-07-28', '2026-07-29', '2026-07-27', '2026-07-28', '2026-07-26'])
    assert.equal('row' in client.received(read({ version })), version === '2026-07-28', version)
})

test('a result by which a tool says that it needs what its client has not declared is an error', () => {
  const frame = resultOf('{"jsonrpc":"2.0","id":1,"result":{"content":[],"isError":true}}')
  const client = { ...nobody, profile: { ...nobody.profile, revision: latestStateless } }
  const call = callOf('1', 0, { client })
  call.missingCapabilities = '{"elicitation":{}}'
  const answer = answerOf(
    call,
    { kind: 'answered', frame, edits: [], era: 'session' },
    { answerBytes: () => assert.fail('the result does not leave') },
  )
  assert.equal(answer?.kind, 'error')
  assert.match(String(answer && answer.message), /"code":-32021/)
})
