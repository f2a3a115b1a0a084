// Writes long lines: `line` answers with a text of so many bytes, `endless` writes so many
// bytes of one line that is no message, and answers after its end.

import { serve, tool } from './serve.mjs'

const CHUNK = Buffer.alloc(1 << 20, 'x')
let before = Promise.resolve()

const write = (bytes) =>
  new Promise((resolve) => {
    if (process.stdout.write(bytes)) resolve()
    else process.stdout.once('drain', resolve)
  })

async function fill(bytes) {
  for (let left = bytes; left > 0; left -= CHUNK.length) await write(CHUNK.subarray(0, left))
}

async function call(id, name, bytes) {
  const open = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"content":[{"type":"text","text":"`
  if (name === 'line') {
    await write(open)
    await fill(bytes)
  } else {
    await fill(bytes)
    await write(`\n${open}${bytes}`)
  }
  await write('"}]}}\n')
}

serve({
  name: 'long',
  capabilities: { tools: {} },
  requests: {
    'tools/list': () => ({
      tools: ['line', 'endless'].map((name) => tool(name, name, { bytes: { type: 'integer' } })),
    }),
    'tools/call': ({ name, arguments: { bytes } }, { id }) => {
      before = before.then(() => call(id, name, bytes))
      return before
    },
  },
})
