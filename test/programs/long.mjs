// Writes long lines: `line` answers with a text of so many bytes, `endless` writes so many
// bytes of one line that is no message, and answers after its end.

const CHUNK = Buffer.alloc(1 << 20, 'x')
const result = (id, value) => `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${value}}\n`
const schema = '{"type":"object","properties":{"bytes":{"type":"integer"}}}'
const tools = ['line', 'endless'].map((name) => `{"name":"${name}","inputSchema":${schema}}`)

function write(bytes) {
  return new Promise((resolve) => {
    if (process.stdout.write(bytes)) resolve()
    else process.stdout.once('drain', resolve)
  })
}

async function fill(bytes) {
  for (let left = bytes; left > 0; left -= CHUNK.length) await write(CHUNK.subarray(0, left))
}

async function call(id, { name, arguments: { bytes } }) {
  const [before, after] = result(id, '{"content":[{"type":"text","text":"$"}]}').split('$')
  if (name === 'line') {
    await write(before)
    await fill(bytes)
    await write(after)
  } else {
    await fill(bytes)
    await write(`\n${before}${bytes}${after}`)
  }
}

async function answer({ id, method, params }) {
  if (id === undefined) return
  if (method === 'tools/call') return call(id, params)
  if (method === 'tools/list') return write(result(id, `{"tools":[${tools.join()}]}`))
  if (method !== 'initialize') return write(result(id, '{}'))
  const { protocolVersion } = params
  const serverInfo = { name: 'long', version: '1' }
  await write(result(id, JSON.stringify({ protocolVersion, capabilities: { tools: {} }, serverInfo })))
}

let rest = ''
let before = Promise.resolve()
process.stdin.setEncoding('utf8')
process.stdin.on('data', (text) => {
  const lines = (rest + text).split('\n')
  rest = lines.pop()
  for (const line of lines) before = before.then(() => answer(JSON.parse(line)))
})
process.stdin.on('end', () => process.exit(0))
