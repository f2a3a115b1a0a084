// A proxy that joins the tracing of the program around it: each call becomes a span, and its server gets the id of that span.
//
// usage: node build/examples/trace.js (after `npm run build && npm run compile`)
//
// Prints the spans. With OpenTelemetry's SDK, `begin` starts a span of the context that `parent` names, and the listener ends it.

import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { type CallTracer, createProxy, memoryPair } from 'mcps-proxy'
import { splice, toLine } from 'mcps-proxy/jsonrpc'

const tracer: CallTracer = {
  begin: (parent) => {
    const trace = parent?.split('-')[1] ?? randomBytes(16).toString('hex')
    return { traceparent: `00-${trace}-${randomBytes(8).toString('hex')}-01` }
  },
}

const timeServer = fileURLToPath(new URL('./servers/time.js', import.meta.resolve('mcps-proxy')))
const config = { mcpServers: { time: { command: process.execPath, args: [timeServer] } } }
const proxy = await createProxy(config, { tracer })
proxy.on('call', ({ method, item, trace, ms, serverMs = 0 }) =>
  console.log(method, item, trace?.traceparent.slice(0, 15), ms >= serverMs),
)

const [ours, theirs] = memoryPair()
await proxy.attach(theirs)
const ignore = (): void => undefined
const answered = new Promise<void>((resolve) => {
  ours.start({ message: () => resolve(), oversize: ignore, drained: ignore, ended: ignore, closed: ignore })
})
const meta = '"_meta":{"traceparent":"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}'
const params = `{"name":"time__get_current_time","arguments":{"timezone":"UTC"},${meta}}`
ours.send(splice(toLine(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`), []))
await answered
await proxy.close()
