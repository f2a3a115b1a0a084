// The line that says what clients get of a server in another way, or not at all.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { toLine } from '../../src/jsonrpc/line.js'
import { serverCapabilities } from '../../src/mcp/capabilities.js'
import { crossing } from '../../src/mcp/eras/crossing-text.js'
import { latestSession, latestStateless } from '../../src/mcp/revisions.js'

const asked =
  'clients up to 2025-11-25: a question of the server is sent to the client during the call, and the call is repeated with the answer; the server is not notified when their roots change'
const waits =
  'clients of 2026-07-28: a question of the server is returned as the result of the call (input_required), and the client answers it in its next request'
const scarce = 'log messages are passed on only while a single call asks for them'

const name = (last: string): string => `io.modelcontextprotocol/${last}`
const extensions = (...names: readonly string[]): object => ({
  extensions: Object.fromEntries(names.map((each) => [each, {}])),
})
const tasks = { tasks: { requests: { tools: { call: {} } } } }

const newServers: readonly (readonly [declares: object, want: string])[] = [
  [{}, asked],
  [{ logging: {} }, `${asked}; ${scarce}`],
  [tasks, asked],
  [extensions(name('tasks')), `${asked}; no tasks`],
  [extensions(name('ui')), asked],
  [
    { ...extensions(name('tasks'), 'com.example/x'), experimental: { y: {} } },
    `${asked}; no tasks. all clients: com.example/x, experimental only where it is the only server`,
  ],
  [
    extensions(name('oauth-client-credentials')),
    `${asked}. all clients: never ${name('oauth-client-credentials')}`,
  ],
]

const oldServers: readonly (readonly [declares: object, want: string])[] = [
  [{}, waits],
  [{ logging: {} }, `${waits}; ${scarce}`],
  // An empty object as servers in PHP write it.
  [{ logging: [] }, `${waits}; ${scarce}`],
  [tasks, `${waits}; no tasks`],
  [
    extensions('com.example/x'),
    `${waits}; the server does not learn which extensions they support. all clients: com.example/x only where it is the only server`,
  ],
  [
    extensions(name('tasks')),
    `${waits}; the server does not learn which extensions they support. all clients: never ${name('tasks')}`,
  ],
]

const line = (declares: object, revision = latestSession, use = {}): string => {
  const bytes = toLine(JSON.stringify(declares))
  const capabilities = serverCapabilities(bytes, { start: 0, end: bytes.length }, revision)
  const facts = { revision, capabilities, instructions: undefined, handshake: bytes }
  return crossing(facts, { questionsNameTheirCall: false, isolation: 'auto', ...use })
}

describe('what clients get of a server', () => {
  for (const [declares, want] of newServers)
    test(`of 2026-07-28 that declares ${JSON.stringify(declares)}`, () =>
      assert.equal(line(declares, latestStateless), want))

  for (const [declares, want] of oldServers)
    test(`with a session that declares ${JSON.stringify(declares)}`, () => assert.equal(line(declares), want))

  test('where it says which call a log message is about', () =>
    assert.equal(line({ logging: {} }, latestSession, { questionsNameTheirCall: true }), waits))

  test('where all clients share its process', () =>
    assert.equal(
      line(tasks, latestSession, { isolation: 'shared' }),
      `${waits}. all clients: no tasks, because clients share the process`,
    ))

  test('names a few extensions of many, and of a long name the beginning', () => {
    const many = Array.from({ length: 7 }, (_, n) => `${n}/${'x'.repeat(1000)}`)
    const said = line(extensions(...many))
    assert.match(said, /4\/x{78} and 2 more only where it is the only server$/)
    assert(said.length < 800)
  })
})
