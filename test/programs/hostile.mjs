// A server whose names and results try to be more than text: markup, addresses that run code, turned text, megabytes.

import { serve, text, tool } from './serve.mjs'

const long = 'x'.repeat(1024 * 1024)
const texts = [
  '<img src="http://127.0.0.1:1/x" onerror="alert(1)">',
  '<script>alert(2)</script>',
  'javascript:alert(3)',
  '\u202eturned\u2066',
  `![](http://127.0.0.1:1/y) http://127.0.0.1:1/z`,
]
const tools = [
  ...texts.map((each, at) => ({ ...tool(`t${at}`, each), title: each })),
  tool('long', long),
  tool('<img/onerror=alert(4)>', ''),
]

serve({
  name: 'hostile',
  requests: {
    initialize: ({ protocolVersion }) => ({
      protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: texts[0], version: texts[1], icons: [{ src: 'http://127.0.0.1:1/icon.png' }] },
    }),
    'tools/list': () => ({ tools }),
    'tools/call': ({ name }) =>
      text(name === 'long' ? `<img src=x onerror=alert(5)>${long}` : texts.join('\n')),
  },
})
