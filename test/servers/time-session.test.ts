import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answerLine, type TimeHost } from '../../src/servers/time-session.js'

const host: TimeHost = { now: () => Date.parse('2026-11-21T20:32:38Z'), localZone: 'Asia/Shanghai' }

function initialized(protocolVersion: string): string {
  const capabilities = '"capabilities":{"experimental":{},"tools":{"listChanged":false}}'
  const serverInfo = '"serverInfo":{"name":"mcp-time","version":"0.1.0"}'
  return `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"${protocolVersion}",${capabilities},${serverInfo}}}`
}

function initialize(protocolVersion: string): string {
  return `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"${protocolVersion}"}}`
}

const NO_METHOD = '{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}'
const INVALID_PARAMS =
  '{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Invalid request parameters"}}'

function invalidRequest(id: string): string {
  return `{"jsonrpc":"2.0","id":${id},"error":{"code":-32600,"message":"Invalid Request"}}`
}

const PARSE_ERROR = '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}'

const cases: readonly [title: string, line: string, answer: string | undefined][] = [
  ['the oldest revision', initialize('2024-11-05'), initialized('2024-11-05')],
  ['the newest revision', initialize('2025-11-25'), initialized('2025-11-25')],
  ['an unknown revision', initialize('2099-01-01'), initialized('2025-11-25')],
  ['no revision', '{"jsonrpc":"2.0","id":1,"method":"initialize"}', initialized('2025-11-25')],
  ['ping', '{"jsonrpc":"2.0","id":"a","method":"ping"}', '{"jsonrpc":"2.0","id":"a","result":{}}'],
  ['a method that there is not', '{"jsonrpc":"2.0","id":1,"method":"resources/list"}\r', NO_METHOD],
  ['a notification', '{"jsonrpc":"2.0","method":"notifications/initialized"}', undefined],
  ['a stray result', '{"jsonrpc":"2.0","id":1,"result":{}}', undefined],
  ['an empty line', '', undefined],
  ['bad JSON', '{"jsonrpc":', PARSE_ERROR],
  ['a batch', '[{"jsonrpc":"2.0","id":1,"method":"ping"}]', invalidRequest('null')],
  ['a number', '1', invalidRequest('null')],
  ['no method', '{"jsonrpc":"2.0","id":7}', invalidRequest('7')],
  ['an id that is null', '{"jsonrpc":"2.0","id":null,"method":"ping"}', invalidRequest('null')],
  ['another protocol', '{"jsonrpc":"1.0","id":8,"method":"ping"}', invalidRequest('8')],
  ['a call without params', '{"jsonrpc":"2.0","id":1,"method":"tools/call"}', INVALID_PARAMS],
  ['a call without a name', '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}', INVALID_PARAMS],
  [
    'arguments that are an array',
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_current_time","arguments":[]}}',
    INVALID_PARAMS,
  ],
  [
    'a call without arguments',
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_current_time"}}',
    '{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":' +
      `"Input validation error: 'timezone' must be a non-empty string"}],"isError":true}}`,
  ],
  [
    'a call',
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_current_time","arguments":{"timezone":"UTC"}}}',
    String.raw`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"{\n  \"timezone\": \"UTC\",\n` +
      String.raw`  \"datetime\": \"2026-11-21T20:32:38+00:00\",\n  \"day_of_week\": \"Saturday\",\n` +
      String.raw`  \"is_dst\": false\n}"}],"isError":false}}`,
  ],
]

for (const [title, line, answer] of cases) test(title, () => assert.equal(answerLine(line, host), answer))

test('tools/list is what the Python server lists, to the byte', () => {
  const annotations =
    '"annotations":{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}'
  const want =
    '{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"get_current_time","description":"Get current time in a specific timezone","inputSchema":{"type":"object","properties":{"timezone":{"type":"string","description":"IANA timezone name (e.g., \'America/New_York\', \'Europe/London\'). Use \'Asia/Shanghai\' as local timezone if no timezone provided by the user."}},"required":["timezone"]},' +
    annotations +
    '},{"name":"convert_time","description":"Convert time between timezones","inputSchema":{"type":"object","properties":{"source_timezone":{"type":"string","description":"Source IANA timezone name (e.g., \'America/New_York\', \'Europe/London\'). Use \'Asia/Shanghai\' as local timezone if no source timezone provided by the user."},"time":{"type":"string","description":"Time to convert in 24-hour format (HH:MM)"},"target_timezone":{"type":"string","description":"Target IANA timezone name (e.g., \'Asia/Tokyo\', \'America/San_Francisco\'). Use \'Asia/Shanghai\' as local timezone if no target timezone provided by the user."}},"required":["source_timezone","time","target_timezone"]},' +
    annotations +
    '}]}}'
  assert.equal(answerLine('{"jsonrpc":"2.0","id":1,"method":"tools/list"}', host), want)
})
