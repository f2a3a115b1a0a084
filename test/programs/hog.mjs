// A server that takes memory: itself, or through a child. Says `refused` where the system gives none.

import { spawn } from 'node:child_process'
import { serve, text, tool } from './serve.mjs'

const kept = []
const script =
  'const kept=[];process.on("message",(mb)=>{kept.push(Buffer.alloc(mb*2**20,1));process.send("taken")})'

function take(mb) {
  try {
    kept.push(Buffer.alloc(mb * 2 ** 20, 1))
    return true
  } catch {
    return false
  }
}

function letChildTake(mb) {
  const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'ignore', 'ignore', 'ipc'] })
  child.send(mb)
  return new Promise((resolve) => {
    child.once('message', () => resolve(true))
    child.once('exit', () => resolve(false))
  })
}

serve({
  name: 'hog',
  capabilities: { tools: {} },
  requests: {
    'tools/list': () => ({ tools: ['take', 'child', 'never', 'pid'].map((name) => tool(name, 'Takes')) }),
    'tools/call': async ({ name, arguments: args }) => {
      if (name === 'never') return undefined
      const isTaken = name === 'take' ? take(args.mb) : name !== 'child' || (await letChildTake(args.mb))
      return text(isTaken ? String(process.pid) : '"refused"')
    },
  },
})
