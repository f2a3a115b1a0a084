// A server to which one fault happens in one phase, once; it is well before and after.
//
// CELL_FAULT and CELL_PHASE say which, by the names of the tables; CELL_FOLDER holds
// what one process leaves for the next: that it has struck, how often it was
// started, and the ledger of what was executed. SIGUSR2 strikes in the phases that
// only the other side knows.

import {
  appendFileSync,
  closeSync,
  existsSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'

const { CELL_FAULT: fault, CELL_PHASE: phase, CELL_FOLDER: folder } = process.env
const struck = join(folder, 'struck')
const starts = existsSync(join(folder, 'starts')) ? readFileSync(join(folder, 'starts')).length : 0
appendFileSync(join(folder, 'starts'), '.')

/** Faults of the next answer wait for it here. */
let armed
let isSlow = false
let held

function strike(id) {
  if (existsSync(struck)) return
  writeFileSync(struck, '')
  if (fault === 'kill-9') process.kill(process.pid, 'SIGKILL')
  else if (fault === 'exit-0') process.exit(0)
  else if (fault === 'exit-1') process.exit(1)
  else if (fault === 'sigstop') process.kill(process.pid, 'SIGSTOP')
  else if (fault === 'stdout-close') closeSync(1)
  else if (fault === 'stdin-close') process.stdin.destroy()
  else if (fault === 'half-line-exit') {
    writeSync(1, '{"jsonrpc":"2.0","id":')
    process.exit(1)
  } else if (fault === 'junk') {
    writeSync(1, Buffer.from('Loading...\n{"jsonrpc":"2.0"\n\xff\xfe\n\n', 'latin1'))
  } else if (fault === 'slow') isSlow = true
  else if (fault === 'never-reads') process.stdin.pause()
  else if (fault === 'enoent-on-restart') {
    rmSync(join(folder, 'server'))
    process.exit(1)
  } else if (fault === 'response-exit' && id === undefined) process.exit(0)
  else armed = fault
}

/** Once so many processes have crashed, the breaker is open, and the next is let through alone. */
if (phase === 'half-open' && starts < 2) process.exit(1)
if (phase === 'before-ready' || (phase === 'half-open' && starts === 2)) strike()

function write(text) {
  if (!isSlow) return process.stdout.write(text)
  const drip = (at) => {
    process.stdout.write(text.slice(at, at + 1))
    if (at < text.length) setTimeout(drip, 1000, at + 1)
  }
  drip(0)
}

const line = (id, value) => `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${value}}\n`

function answer(id, value) {
  const now = armed
  armed = undefined
  if (now === 'oversize') return write(line(id, `{"filler":"${'x'.repeat(600_000)}"}`))
  if (now === 'wrong-id') return write(line(987_654_321, value))
  if (now === 'duplicate-response') return write(line(id, value) + line(id, value))
  if (now === 'response-exit') {
    writeSync(1, line(id, value))
    process.exit(0)
  }
  const text = line(id, value)
  if (phase !== 'half-received' || existsSync(struck) || !value.includes('content')) return write(text)
  writeSync(1, text.slice(0, 20))
  strike(id)
  write(text.slice(20))
}

const tool = (name) => ({ name, inputSchema: { type: 'object' } })

const said = (nonce) => JSON.stringify({ content: [{ type: 'text', text: String(nonce) }] })

function call(id, { name, arguments: { nonce } = {}, _meta }) {
  appendFileSync(join(folder, 'ledger'), `${nonce}\n`)
  if (name === 'hold') {
    held = id
    if (phase === 'half-written') process.stdin.pause()
    writeFileSync(join(folder, 'held'), '')
    return
  }
  if (phase === 'written') strike(id)
  if (phase === 'progress-seen') {
    const params = JSON.stringify({ progressToken: _meta?.progressToken, progress: 1 })
    write(`{"jsonrpc":"2.0","method":"notifications/progress","params":${params}}\n`)
    setTimeout(() => {
      strike(id)
      answer(id, said(nonce))
    }, 20)
  } else answer(id, said(nonce))
}

process.on('SIGUSR2', () => {
  strike(held)
  if (held === undefined) return
  if (fault !== 'never-reads') process.stdin.resume()
  answer(held, said('held'))
  held = undefined
})

function message({ id, method, params }) {
  if (method === 'notifications/cancelled' && (phase === 'cancelled' || phase === 'timed-out')) strike()
  if (id === undefined || method === undefined) return
  if (method === 'initialize') {
    if (phase === 'during-initialize') strike(id)
    const { protocolVersion } = params
    const serverInfo = { name: 'cell', version: '1' }
    answer(id, JSON.stringify({ protocolVersion, capabilities: { tools: {} }, serverInfo }))
    if (phase === 'before-initialized') strike()
  } else if (method === 'tools/list') {
    answer(id, JSON.stringify({ tools: [tool('nonce'), tool('hold')] }))
  } else if (method === 'tools/call') call(id, params)
  else answer(id, '{}')
}

let rest = ''
process.stdin.setEncoding('utf8')
process.stdin.on('data', (text) => {
  const lines = (rest + text).split('\n')
  rest = lines.pop()
  for (const each of lines) message(JSON.parse(each))
})
process.stdin.on('end', () => process.exit(0))
process.stdin.on('error', () => undefined)
process.stdout.on('error', () => undefined)
// One whose stdin is closed lives on.
setInterval(() => undefined, 1e6)
