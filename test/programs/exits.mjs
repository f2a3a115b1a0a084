// A server with sessions that ends on the question what it speaks. FILE gets the question, and LOCK, where it is named, must
// be free when the server starts.

import { appendFileSync, closeSync, openSync, unlinkSync } from 'node:fs'
import { serve, text, tool } from './serve.mjs'

const { FILE, LOCK } = process.env
if (LOCK !== undefined) {
  closeSync(openSync(LOCK, 'wx'))
  process.on('exit', () => unlinkSync(LOCK))
}

serve({
  name: 'old',
  capabilities: { tools: {} },
  requests: {
    'server/discover': (_params, { line }) => {
      appendFileSync(FILE, `${line}\n`)
      // Its last words take a while, so that the lock is not free immediately.
      setTimeout(() => process.exit(1), 100)
    },
    'tools/list': () => ({ tools: [tool('old', 'Says old')] }),
    'tools/call': () => text('old'),
  },
})
