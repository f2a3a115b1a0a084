// A server that takes memory: itself, or through a child.

import { spawn } from 'node:child_process'
import { serve, text, tool } from './serve.mjs'

const kept = []
const script =
  'const kept=[];process.on("message",(mb)=>{kept.push(Buffer.alloc(mb*2**20,1));process.send("taken")})'

function take(mb) {
  kept.push(Buffer.alloc(mb * 2 ** 20, 1))
}

function letChildTake(mb) {
  const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'ignore', 'ignore', 'ipc'] })
  child.send(mb)
  return new Promise((resolve) => child.once('message', resolve))
}

serve({
  name: 'hog',
  capabilities: { tools: {} },
  requests: {
    'tools/list': () => ({ tools: ['take', 'child', 'never', 'pid'].map((name) => tool(name, 'Takes')) }),
    'tools/call': async ({ name, arguments: args }) => {
      if (name === 'never') return undefined
      if (name === 'take') take(args.mb)
      if (name === 'child') await letChildTake(args.mb)
      return text(String(process.pid))
    },
  },
})
