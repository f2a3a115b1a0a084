// A server whose child takes memory, and keeps it until it ends.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { serve, text, tool } from './serve.mjs'

const script = 'process.on("message",(mb)=>{global["b"+mb]=Buffer.alloc(mb*2**20,1);process.send("taken")})'

async function take(mb) {
  const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'ignore', 'ignore', 'ipc'] })
  child.send(mb)
  await once(child, 'message')
}

serve({
  name: 'hog',
  capabilities: { tools: {} },
  requests: {
    'tools/list': () => ({ tools: ['take', 'never', 'pid'].map((name) => tool(name, 'Takes')) }),
    'tools/call': async ({ name, arguments: args }) => {
      if (name === 'never') return undefined
      if (name === 'take') await take(args.mb)
      return text(String(process.pid))
    },
  },
})
