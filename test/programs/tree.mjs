// A server that will not go: three levels of processes (this one, a shell, and
// what the shell runs) that ignore the end of stdin, SIGTERM and SIGHUP.
//
// TREE_LEAVES: the lower two leave the process group of the first.

import { spawn } from 'node:child_process'
import { serve, text, tool } from './serve.mjs'

for (const signal of ['SIGTERM', 'SIGHUP', 'SIGINT']) process.on(signal, () => {})
for (const stream of [process.stdin, process.stdout]) stream.on('error', () => {})
// A signal that is ignored here stays ignored in what the shell starts.
spawn('/bin/sh', ['-c', "trap '' TERM HUP INT; sleep 600; :"], {
  stdio: 'ignore',
  detached: process.env.TREE_LEAVES !== undefined,
})
setInterval(() => {}, 1e6)

serve({
  name: 'tree',
  capabilities: { tools: {} },
  requests: {
    'tools/list': () => ({ tools: [tool('nonce', 'Says what it was told')] }),
    'tools/call': ({ arguments: args }) => text(String(args?.n)),
  },
})
