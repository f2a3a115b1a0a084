// A proxy inside a program that serves clients over HTTP. docs/library.md shows parts of it.
//
// usage: node build/examples/serve.js (after `npm run build && npm run compile`)

import { fileURLToPath } from 'node:url'
import { createProxy, httpServer } from 'mcps-proxy'

const timeServer = fileURLToPath(new URL('./servers/time.js', import.meta.resolve('mcps-proxy')))
const proxy = await createProxy({ mcpServers: { time: { command: process.execPath, args: [timeServer] } } })

const serving = await proxy.serve(httpServer({ port: 0, allowedHosts: ['mcp.example.com'] }))
console.log(serving.url) // the address for clients: http://127.0.0.1:40219/mcp
serving.on('session', ({ session, state, transport }) => console.log(session, state, transport))

const params = {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'serve', version: '1' },
}
const response = await fetch(serving.url, {
  method: 'POST',
  headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' },
  body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }),
})
console.log(response.status)
await response.text()
await proxy.close()
