// A server whose names and results try to be more than text: markup, addresses that run code, turned text, megabytes.

import { createInterface } from 'node:readline'

const long = 'x'.repeat(1024 * 1024)
const texts = [
  '<img src="http://127.0.0.1:1/x" onerror="alert(1)">',
  '<script>alert(2)</script>',
  'javascript:alert(3)',
  '\u202eturned\u2066',
  `![](http://127.0.0.1:1/y) http://127.0.0.1:1/z`,
]
const tools = [
  ...texts.map((text, at) => ({
    name: `t${at}`,
    title: text,
    description: text,
    inputSchema: { type: 'object' },
  })),
  { name: 'long', description: long, inputSchema: { type: 'object' } },
  { name: '<img/onerror=alert(4)>', inputSchema: { type: 'object' } },
]
const results = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: texts[0], version: texts[1], icons: [{ src: 'http://127.0.0.1:1/icon.png' }] },
  }),
  'tools/list': () => ({ tools }),
  'tools/call': ({ name }) => ({
    content: [
      { type: 'text', text: name === 'long' ? `<img src=x onerror=alert(5)>${long}` : texts.join('\n') },
    ],
  }),
}

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params = {} } = JSON.parse(line)
  const result = results[method]?.(params)
  if (id !== undefined && result !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, result }))
  else if (id !== undefined)
    console.log(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message: texts[0] } }))
}
