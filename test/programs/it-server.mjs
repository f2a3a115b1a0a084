// A server for the integration tests that does what it is told, and remembers
// every byte that it got.
//
// IT_START: `crash` exits at once, `hang` never answers `initialize`,
// `late:<ms>` answers it after that time, `late:<file>` once that is there.
// IT_STUBBORN: ignores the end of its stdin and SIGTERM, and has a child that does too.
// IT_TOOLS: names of further tools, which all do what `nonce` does.

import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'

const mode = process.env.IT_START ?? ''
if (mode === 'crash') {
  process.stderr.write('no such luck\n')
  process.exit(7)
}

/** Goes on after a time, or once a file is there. */
function late(what, goOn) {
  if (/^\d+$/.test(what)) setTimeout(() => goOn(), Number(what))
  else if (existsSync(what)) goOn()
  else setTimeout(() => late(what, goOn), 10)
}

const seen = []
const held = new Map()
const asked = new Map()
let asking = 0
let grandchild

if (process.env.IT_STUBBORN) {
  process.on('SIGTERM', () => {})
  const script = 'process.on("SIGTERM",()=>{});setInterval(()=>{},1e6)'
  grandchild = spawn(process.execPath, ['-e', script], { stdio: 'ignore' }).pid
  setInterval(() => {}, 1e6)
}

const say = (line) => process.stdout.write(`${line}\n`)
const tell = (method, params) => say(JSON.stringify({ jsonrpc: '2.0', method, params }))
const result = (id, value) => say(JSON.stringify({ jsonrpc: '2.0', id, result: value }))
const saying = (id, value) => result(id, { content: [{ type: 'text', text: JSON.stringify(value) }] })
const ticks = async (count) => {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve))
}

function ask(method, params) {
  const id = asking++
  say(JSON.stringify({ jsonrpc: '2.0', id, method, params }))
  return new Promise((resolve) => asked.set(id, resolve))
}

const tools = {
  nonce: (id, args) => saying(id, { n: args.n, pid: process.pid }),
  /** Waits for `release`. */
  hold: (id, args) => void held.set(args.key, id),
  release: (id, args) => {
    if (held.has(args.key)) saying(held.get(args.key), { n: args.key, pid: process.pid })
    saying(id, { released: held.delete(args.key) })
  },
  never: () => {},
  die: (_id, args) => process.exit(args.code ?? 3),
  /** Every line that came in, as base64. */
  seen: (id) => saying(id, { pid: process.pid, lines: seen.map((line) => line.toString('base64')) }),
  env: (id) => saying(id, process.env),
  pids: (id) => saying(id, { pid: process.pid, grandchild }),
  /** Everything that can come with a call: progress, log messages, a question; each carries `n`. */
  work: async (id, args, token) => {
    await ticks(args.ticks)
    for (let at = 1; at <= args.steps; at++) {
      if (token !== undefined) {
        tell('notifications/progress', { progressToken: token, progress: at, message: args.n })
      }
      if (args.logs) tell('notifications/message', { level: 'info', data: args.n })
      await ticks(args.ticks % 3)
    }
    const answer = args.ask
      ? await ask('sampling/createMessage', { messages: [], maxTokens: 1, systemPrompt: args.n })
      : undefined
    saying(id, { n: args.n, pid: process.pid, answer })
  },
  ask: async (id, args) => saying(id, await ask(args.method, args.params)),
  /** Asks, and never answers the call. */
  'ask-and-hold': (_id, args) => void ask(args.method, args.params),
  /** Progress at an interval that keeps a deadline away. */
  slow: (id, args, token) => {
    let at = 0
    const timer = setInterval(() => {
      at++
      if (at <= args.steps) tell('notifications/progress', { progressToken: token, progress: at })
      else {
        clearInterval(timer)
        saying(id, { at })
      }
    }, args.everyMs)
  },
  /** Takes a while. */
  turn: async (id, args) => {
    await ticks(args.ticks)
    saying(id, { n: args.n, pid: process.pid })
  },
  tell: (id, args) => {
    tell(args.method, args.params)
    saying(id, {})
  },
  /** Says exactly these lines. */
  raw: (id, args) => {
    for (const line of args.lines) say(line.replaceAll('$ID', JSON.stringify(id)))
  },
  junk: (id, args) => {
    for (const line of args.lines) say(line)
    saying(id, { n: args.n })
  },
  'stderr-flood': (id, args) => {
    const line = `${'x'.repeat(args.width - 1)}\n`
    const block = line.repeat(Math.ceil((1 << 20) / args.width))
    let left = args.bytes
    const more = () => {
      while (left > 0) {
        left -= block.length
        if (!process.stderr.write(block)) return process.stderr.once('drain', more)
      }
      saying(id, {})
    }
    more()
  },
  big: (id, args) => saying(id, { n: args.n, filler: 'y'.repeat(args.bytes) }),
}

const schemas = {
  strict: {
    type: 'object',
    properties: { n: { type: 'string', minLength: 1 } },
    required: ['n'],
  },
}
const names = [...Object.keys(tools), 'strict', ...(process.env.IT_TOOLS ?? '').split(' ').filter(Boolean)]

const toolList = names.map((name) => ({ name, inputSchema: schemas[name] ?? { type: 'object' } }))

const uriOf = (n) => `it://${process.env.IT_NAME ?? 'server'}/${n}`

const methods = {
  initialize: (id, params) => {
    const answer = () =>
      result(id, {
        protocolVersion: params.protocolVersion,
        capabilities: {
          tools: { listChanged: true },
          resources: { subscribe: true, listChanged: true },
          logging: {},
        },
        serverInfo: { name: 'it-server', version: '1' },
      })
    if (mode === 'hang') return
    if (mode.startsWith('late:')) late(mode.slice('late:'.length), answer)
    else answer()
  },
  ping: (id) => result(id, {}),
  'tools/list': (id) => result(id, { tools: toolList }),
  'resources/list': (id) =>
    result(id, { resources: ['a', 'b', 'c'].map((name) => ({ name, uri: uriOf(name) })) }),
  'resources/templates/list': (id) => result(id, { resourceTemplates: [] }),
  'resources/read': (id, params) => result(id, { contents: [{ uri: params.uri, text: params.uri }] }),
  'resources/subscribe': (id) => result(id, {}),
  'resources/unsubscribe': (id) => result(id, {}),
  'logging/setLevel': (id) => result(id, {}),
  'tools/call': (id, params) => {
    const tool = tools[params.name] ?? tools.nonce
    void tool(id, params.arguments ?? {}, params._meta?.progressToken)
  },
}

function message(line) {
  seen.push(line)
  const { id, method, params, result: answer, error } = JSON.parse(line.toString())
  if (method === undefined) {
    asked.get(id)?.(error === undefined ? { result: answer } : { error })
    asked.delete(id)
  } else if (id !== undefined) {
    const handle = methods[method]
    if (handle === undefined)
      say(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message: 'no such method' } }))
    else handle(id, params)
  }
}

let rest = Buffer.alloc(0)
process.stdin.on('data', (chunk) => {
  let bytes = Buffer.concat([rest, chunk])
  for (let end = bytes.indexOf(10); end >= 0; end = bytes.indexOf(10)) {
    message(bytes.subarray(0, end))
    bytes = bytes.subarray(end + 1)
  }
  rest = bytes
})
process.stdin.on('end', () => {
  if (!process.env.IT_STUBBORN) process.exit(0)
})
