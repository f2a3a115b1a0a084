// A server that counts cancels: `hit` answers after so many milliseconds unless it heeds a
// cancel before, `tally` says what came. A cancel must name a call that came, and once.

const result = (id, value) =>
  process.stdout.write(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${JSON.stringify(value)}}\n`)
const said = (text) => ({ content: [{ type: 'text', text }] })

/** By id: who is at it, and whether it was cancelled. */
const calls = new Map()
const tally = { calls: 0, cancels: 0, strange: 0, twice: 0, again: 0 }
const nonces = new Set()

function hit(id, { nonce, ms, heeds }) {
  tally.calls++
  if (nonces.has(nonce)) tally.again++
  nonces.add(nonce)
  const call = { cancelled: false, heeds }
  calls.set(id, call)
  const answer = () => {
    if (!(call.cancelled && heeds)) result(id, said(nonce))
  }
  if (ms === 0) answer()
  else setTimeout(answer, ms)
}

function cancelled(id) {
  const call = calls.get(id)
  tally.cancels++
  if (call === undefined) tally.strange++
  else if (call.cancelled) tally.twice++
  else call.cancelled = true
}

function message({ id, method, params }) {
  if (method === 'notifications/cancelled') return cancelled(params.requestId)
  if (id === undefined) return
  if (method === 'initialize') {
    const { protocolVersion } = params
    return result(id, {
      protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: 'cancels', version: '1' },
    })
  }
  if (method === 'tools/list') {
    return result(id, { tools: ['hit', 'tally'].map((name) => ({ name, inputSchema: { type: 'object' } })) })
  }
  if (method !== 'tools/call') return result(id, {})
  if (params.name === 'hit') hit(id, params.arguments)
  else result(id, said(JSON.stringify(tally)))
}

let rest = ''
process.stdin.setEncoding('utf8')
process.stdin.on('data', (text) => {
  const lines = (rest + text).split('\n')
  rest = lines.pop()
  for (const line of lines) message(JSON.parse(line))
})
process.stdin.on('end', () => process.exit(0))
