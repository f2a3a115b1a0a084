// A server that is well until a file says otherwise.
//
//   node faulty.mjs MODE FILE
//
// While FILE is there: `hang` says nothing at all, `crash` exits as soon as it has
// started, `junk` floods with lines that are no messages, and `long` with lines of 64 MiB.

import { existsSync } from 'node:fs'

const [mode, file] = process.argv.slice(2)
const MiB = 1 << 20
const junk = Buffer.from('debug: something happened that nobody wants to know\n'.repeat(2000))
const long = Buffer.alloc(MiB, 'x')
const isOn = () => existsSync(file)
const result = (id, value) => `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${value}}\n`

function write(bytes) {
  return new Promise((resolve) => {
    if (process.stdout.write(bytes)) setImmediate(resolve)
    else process.stdout.once('drain', resolve)
  })
}

async function flood() {
  if (mode === 'junk') return write(junk)
  for (let left = 64; left > 0; left--) await write(long)
  await write('\n')
}

async function watch() {
  for (;;) {
    if (!isOn() || mode === 'hang') await new Promise((resolve) => setTimeout(resolve, 20))
    else if (mode === 'crash') process.exit(1)
    else await flood()
  }
}

function answer({ id, method, params }) {
  if (id === undefined || isOn()) return
  if (method === 'initialize') {
    const { protocolVersion } = params
    const serverInfo = { name: 'faulty', version: '1' }
    process.stdout.write(
      result(id, JSON.stringify({ protocolVersion, capabilities: { tools: {} }, serverInfo })),
    )
  } else if (method === 'tools/list') {
    process.stdout.write(result(id, '{"tools":[{"name":"nonce","inputSchema":{"type":"object"}}]}'))
  } else {
    const text = JSON.stringify(`${params?.arguments?.nonce}`)
    process.stdout.write(result(id, `{"content":[{"type":"text","text":${text}}]}`))
  }
}

let rest = ''
process.stdin.setEncoding('utf8')
process.stdin.on('data', (text) => {
  const lines = (rest + text).split('\n')
  rest = lines.pop()
  for (const line of lines) answer(JSON.parse(line))
})
process.stdin.on('end', () => process.exit(0))
process.stdout.on('error', () => process.exit(0))
void watch()
