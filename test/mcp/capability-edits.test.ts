import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { capabilityEdits, clientCapabilities } from '../../src/mcp/capabilities.js'
import { toLine } from '../../src/jsonrpc/line.js'
import { splice } from '../../src/jsonrpc/splice.js'
import { sessionRevisions, latestStateless } from '../../src/mcp/revisions.js'

const cases: [string, string, string][] = [
  ['nothing there', '{}', '{}'],
  ['nothing to cut', '{"tools":{"x":1.0}}', '{"tools":{"x":1.0}}'],
  ['alone', '{"tasks":{"list":{}}}', '{}'],
  ['first', '{"tasks":{} , "tools":{}}', '{"tools":{}}'],
  ['last', '{"tools":{} , "tasks":{}}', '{"tools":{}}'],
  ['between', '{"a":[1,{}],"tasks":{"tasks":1},"b":"}"}', '{"a":[1,{}],"b":"}"}'],
  ['twice at the beginning', '{"tasks":1, "tasks":{},"b":2}', '{"b":2}'],
  ['twice at the end', '{"b":2,"tasks":1, "tasks":{}}', '{"b":2}'],
  ['twice, apart', '{"tasks":1,"b":2,"tasks":{},"c":3}', '{"b":2,"c":3}'],
  ['nothing else', '{ "tasks":1,"tasks":{} }', '{  }'],
  [
    'extensions that do not pass, and what is behind them',
    '{"extensions":{"io.modelcontextprotocol/tasks":{},"com.example/x":{"n":1.0}},"tasks":{}}',
    '{"extensions":{"com.example/x":{"n":1.0}}}',
  ],
  [
    'extensions about logins',
    '{"extensions":{"io.modelcontextprotocol/oauth-client-credentials":{}},"experimental":{"y":{}}}',
    '{"extensions":{},"experimental":{"y":{}}}',
  ],
  ['deeper', '{"experimental":{"tasks":{}}}', '{"experimental":{"tasks":{}}}'],
]

for (const [title, given, want] of cases)
  test(`capabilities that the proxy cannot carry: ${title}`, () => {
    const line = toLine(`[${given}]`)
    const edits = capabilityEdits(line, { start: 1, end: line.length - 1 }, false)
    assert.equal(splice(line, edits).toString(), `[${want}]`)
    assert(edits.every(({ why }) => why === 'capability'))
  })

test('capabilities that the proxy cannot carry: without an object there is nothing to cut', () => {
  assert.deepEqual(capabilityEdits(toLine('[1]'), { start: 1, end: 2 }, false), [])
  assert.deepEqual(capabilityEdits(toLine('[1]'), undefined, false), [])
})

const every = '{"elicitation":{"form":{}},"sampling":{},"roots":{}}'
const known: readonly (readonly [revision: string, names: readonly string[]])[] = [
  ['2024-11-05', ['sampling', 'roots']],
  ['2025-03-26', ['sampling', 'roots']],
  ['2025-06-18', ['elicitation', 'sampling', 'roots']],
  ['2026-07-28', ['elicitation', 'sampling', 'roots']],
]
for (const [version, names] of known)
  test(`the capabilities of a client are those that ${version} has`, () => {
    const bytes = toLine(every)
    const revision = [...sessionRevisions, latestStateless].find((each) => each.version === version)
    assert(revision !== undefined)
    const said = clientCapabilities(bytes, { start: 0, end: bytes.length }, revision)
    assert.deepEqual([...said.names], names)
    assert.deepEqual(Object.keys(JSON.parse(said.json)), names)
  })
