// A proxy inside a program: a client in memory, a tap, and a listener. docs/library.md shows parts of it.
//
// usage: node build/examples/embed.js (after `npm run build && npm run compile`)
//
// Prints one line for each call that ended and the answer to each request.

import { fileURLToPath } from 'node:url'
import { createProxy, memoryPair } from 'mcps-proxy'
import { splice, toLine } from 'mcps-proxy/jsonrpc'

const timeServer = fileURLToPath(new URL('./servers/time.js', import.meta.resolve('mcps-proxy')))

const seen = { wire: 0, edits: 0 }
const proxy = await createProxy(
  { mcpServers: { time: { command: process.execPath, args: [timeServer] } } },
  {
    tap: {
      wire: ({ bytes }) => void (seen.wire += bytes.length),
      forward: ({ edits }) => void (seen.edits += edits.length),
    },
  },
)
const [ours, theirs] = memoryPair()
await proxy.attach(theirs) // or stdio(), or any Connection

proxy.on('call', ({ server, name, outcome, ms }) => console.log(server, name, outcome, ms >= 0))

const answered = new Promise<void>((resolve) => {
  ours.start({
    message: (line) => {
      console.log(line.toString())
      resolve()
    },
    oversize: () => undefined,
    drained: () => undefined,
    ended: () => undefined,
    closed: () => undefined,
  })
})
const call =
  '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"time__get_current_time","arguments":{"timezone":"UTC"}}}'
ours.send(splice(toLine(call), []))
await answered
await proxy.close()
console.log(seen.wire > 0 && seen.edits > 0 ? 'the tap saw every message' : 'the tap saw nothing')
