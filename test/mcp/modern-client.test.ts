// What a client of the stateless revisions says of itself is taken from the request that says it.

import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { LatestTexts, type RequestFrame, defaultFrameLimits, readFrame } from '../../src/jsonrpc/frame.js'
import { toLine } from '../../src/jsonrpc/line.js'
import { joinedWire } from '../../src/jsonrpc/fast/splice-parts.js'
import { StatelessClientLeg } from '../../src/mcp/eras/stateless-client-leg.js'

import { callOf } from '../upstream/support/calls.js'

const PREFIX = 'io.modelcontextprotocol'

interface Said {
  readonly version?: string
  readonly level?: string
  readonly token?: string
}

/** Reads the requests of one connection. */
function reader(): (said: Said) => RequestFrame {
  const latest = new LatestTexts()
  return ({ version = '2026-07-28', level = 'error', token = '1' }) => {
    const meta = `{"progressToken":${token},"${PREFIX}/protocolVersion":"${version}","${PREFIX}/clientCapabilities":{},"${PREFIX}/logLevel":"${level}"}`
    const text = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","_meta":${meta}}}`
    const frame = readFrame(toLine(text), defaultFrameLimits, latest)
    assert(frame.kind === 'request')
    return frame
  }
}

const leg = (): StatelessClientLeg =>
  new StatelessClientLeg({ name: 'p', version: '1' }, { principal: 'somebody', isSeveral: false })

test('requests that say the same of themselves have one context', () => {
  const [read, client] = [reader(), leg()]
  const contexts = ['1', '2', '40', '"a"'].map((token) => {
    const received = client.received(read({ token }))
    assert(received.kind === 'stateless')
    return received.context
  })
  assert.equal(new Set(contexts).size, 1)
})

test('requests that differ in what they say of themselves are taken at their word', () => {
  const [read, client] = [reader(), leg()]
  for (const level of ['debug', 'info', 'error', 'alert', 'error', 'debug']) {
    const frame = read({ level })
    const received = client.received(frame)
    assert(received.kind === 'stateless')
    assert.equal(received.context.logLevel, level)
  }
})

test('a revision that is none is refused among others that differ in it', () => {
  const [read, client] = [reader(), leg()]
  for (const version of ['2026-07-28', '2026-07-29', '2026-07-27', '2026-07-28', '2026-07-26'])
    assert.equal(client.received(read({ version })).kind === 'stateless', version === '2026-07-28', version)
})

test('a result by which a tool says that it needs what its client has not declared is an error', () => {
  const frame = readFrame(toLine('{"jsonrpc":"2.0","id":1,"result":{"content":[],"isError":true}}'))
  assert(frame.kind === 'result')
  const call = callOf('1', 0)
  call.missingCapabilities = '{"elicitation":{}}'
  const voice = { answerBytes: () => assert.fail('the result does not leave') }
  const answer = leg().answer(call, { kind: 'answered', frame, edits: [], era: 'session' }, voice)
  assert.equal(answer?.kind, 'error')
  assert.match(String(answer && joinedWire(answer.message)), /"code":-32021/)
})
