// Says the nonce of each call, after as many steps of progress as it is asked for.

const say = (lines) => process.stdout.write(lines)
const result = (id, value) => `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${value}}\n`
const tools = '{"tools":[{"name":"nonce","inputSchema":{"type":"object"}}]}'

function answer({ id, method, params }) {
  if (id === undefined) return ''
  if (method === 'initialize') {
    const { protocolVersion } = params
    const serverInfo = { name: 'nonces', version: '1' }
    return result(id, JSON.stringify({ protocolVersion, capabilities: { tools: {} }, serverInfo }))
  }
  if (method === 'tools/list') return result(id, tools)
  if (method !== 'tools/call') return result(id, '{}')
  const { nonce, steps = 0 } = params?.arguments ?? {}
  const token = JSON.stringify(params._meta?.progressToken)
  let lines = ''
  for (let step = 1; step <= steps && step <= 100; step++) {
    lines += `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${token},"progress":${step},"message":${JSON.stringify(`${nonce}`)}}}\n`
  }
  return lines + result(id, `{"content":[{"type":"text","text":${JSON.stringify(`${nonce}`)}}]}`)
}

let rest = ''
process.stdin.setEncoding('utf8')
process.stdin.on('data', (text) => {
  const lines = (rest + text).split('\n')
  rest = lines.pop()
  say(lines.map((line) => answer(JSON.parse(line))).join(''))
})
process.stdin.on('end', () => process.exit(0))
