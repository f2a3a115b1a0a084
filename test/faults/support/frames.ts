// Valid messages for the fuzzer. `$ID` stands for an id.

const request = (method: string, params: string): string =>
  `{"jsonrpc":"2.0","id":$ID,"method":"${method}","params":${params}}`
const notification = (method: string, params: string): string =>
  `{"jsonrpc":"2.0","method":"${method}","params":${params}}`
const result = (value: string): string => `{"jsonrpc":"2.0","id":$ID,"result":${value}}`

/** Messages of clients. `exit` and `shutdown` would end the run, so they are missing. */
export const clientFrames: readonly [string, ...string[]] = [
  request(
    'initialize',
    '{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"f","version":"1"}}',
  ),
  request(
    'initialize',
    '{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"f","version":"1"}}',
  ),
  request('ping', '{}'),
  request('tools/list', '{}'),
  request('tools/list', '{"cursor":"abc"}'),
  request('tools/call', '{"name":"s__nonce","arguments":{"n":"fuzz"}}'),
  request(
    'tools/call',
    '{"name":"s__work","arguments":{"n":"fuzz","steps":2,"ticks":0},"_meta":{"progressToken":$ID}}',
  ),
  request('tools/call', '{"name":"nowhere__nonce","arguments":{}}'),
  request('resources/list', '{}'),
  request('resources/read', '{"uri":"it://a"}'),
  request('resources/subscribe', '{"uri":"it://a"}'),
  request('prompts/get', '{"name":"p","arguments":{"a":"b"}}'),
  request(
    'completion/complete',
    '{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":"b"}}',
  ),
  request('logging/setLevel', '{"level":"debug"}'),
  request('no/such/method', '{}'),
  notification('notifications/initialized', '{}'),
  notification('notifications/cancelled', '{"requestId":$ID,"reason":"r"}'),
  notification('notifications/progress', '{"progressToken":$ID,"progress":1}'),
  notification('notifications/roots/list_changed', '{}'),
  notification('no/such/notification', '{}'),
  result('{}'),
  result('{"roots":[]}'),
  '{"jsonrpc":"2.0","id":$ID,"error":{"code":-32603,"message":"m","data":[1]}}',
]

export const serverFrames: readonly [string, ...string[]] = [
  result('{}'),
  result('{"content":[{"type":"text","text":"foreign"}]}'),
  result('{"tools":[{"name":"hit","inputSchema":{"type":"object"}}],"nextCursor":"c"}'),
  result('{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"f","version":"1"}}'),
  '{"jsonrpc":"2.0","id":$ID,"error":{"code":-32603,"message":"m","data":[1]}}',
  request('ping', '{}'),
  request('roots/list', '{}'),
  request('sampling/createMessage', '{"messages":[],"maxTokens":1}'),
  request('elicitation/create', '{"message":"m","requestedSchema":{"type":"object","properties":{}}}'),
  request('no/such/method', '{}'),
  notification('notifications/progress', '{"progressToken":$ID,"progress":1,"message":"foreign"}'),
  notification('notifications/message', '{"level":"error","data":"foreign"}'),
  notification('notifications/cancelled', '{"requestId":$ID}'),
  notification('notifications/tools/list_changed', '{}'),
  notification('notifications/resources/list_changed', '{}'),
  notification('notifications/resources/updated', '{"uri":"it://a"}'),
  notification('no/such/notification', '{}'),
]
