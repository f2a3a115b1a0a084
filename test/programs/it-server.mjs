// The server of the integration tests: each tool has one effect, and every byte that came in is kept.
//
// IT_START: `crash` exits immediately, `hang` never answers `initialize`, `late:<ms>` answers it after that time, `late:<file>`
// once that file exists.
// IT_STUBBORN: ignores the end of stdin and SIGTERM, and has a child that does too.
// IT_TOOLS: names of further tools, which all do what `nonce` does.

import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { ask, notify, onLines, serve, text } from './serve.mjs'

const {
  IT_START: mode = '',
  IT_NAME: ownName = 'server',
  IT_TOOLS: moreTools = '',
  IT_STUBBORN: isStubborn,
} = process.env
if (mode === 'crash') {
  process.stderr.write('no such luck\n')
  process.exit(7)
}

const later = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

/** Resolves when `initialize` may be answered. */
async function start() {
  const [, late] = /^late:(.*)/.exec(mode) ?? []
  if (mode === 'hang') await new Promise(() => {})
  if (/^\d+$/.test(late)) await later(Number(late))
  else if (late !== undefined) while (!existsSync(late)) await later(10)
}

const seen = []
const held = new Map()
let grandchild

if (isStubborn) {
  process.on('SIGTERM', () => {})
  const script = 'process.on("SIGTERM",()=>{});setInterval(()=>{},1e6)'
  grandchild = spawn(process.execPath, ['-e', script], { stdio: 'ignore' }).pid
  setInterval(() => {}, 1e6)
} else process.stdin.on('end', () => process.exit(0))

const { pid } = process
const saying = (value) => text(JSON.stringify(value))
const ticks = async (count) => {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve))
}

async function answerTo(method, params) {
  const { result, error } = await ask(method, params)
  return error === undefined ? { result } : { error }
}

/** A tool gets its arguments and the call; without a result it is not answered. */
const tools = {
  nonce: ({ n }) => saying({ n, pid }),
  /** Waits for `release`. */
  hold: ({ key }) => new Promise((resolve) => held.set(key, resolve)),
  release: ({ key }) => {
    held.get(key)?.(saying({ n: key, pid }))
    return saying({ released: held.delete(key) })
  },
  never: () => undefined,
  die: ({ code = 3 }) => process.exit(code),
  /** Every line that came in, as base64. */
  seen: () => saying({ pid, lines: seen.map((line) => line.toString('base64')) }),
  env: () => saying(process.env),
  pids: () => saying({ pid, grandchild }),
  /** Everything that can come with a call: progress, log messages, a question; each carries `n`. */
  work: async (args, { progressToken }) => {
    await ticks(args.ticks)
    for (let progress = 1; progress <= args.steps; progress++) {
      if (progressToken !== undefined)
        notify('notifications/progress', { progressToken, progress, message: args.n })
      if (args.logs) notify('notifications/message', { level: 'info', data: args.n })
      await ticks(args.ticks % 3)
    }
    const question = { messages: [], maxTokens: 1, systemPrompt: args.n }
    const answer = args.ask ? await answerTo('sampling/createMessage', question) : undefined
    return saying({ n: args.n, pid, answer })
  },
  ask: async ({ method, params }) => saying(await answerTo(method, params)),
  /** Asks, and never answers the call. */
  'ask-and-hold': ({ method, params }) => void ask(method, params),
  /** Progress at an interval that keeps a deadline away. */
  slow: async ({ steps, everyMs }, { progressToken }) => {
    for (let progress = 1; ; progress++) {
      await later(everyMs)
      if (progress > steps) return saying({ at: progress })
      notify('notifications/progress', { progressToken, progress })
    }
  },
  /** Takes some turns of the event loop. */
  turn: async ({ n, ticks: count }) => {
    await ticks(count)
    return saying({ n, pid })
  },
  tell: ({ method, params }) => {
    notify(method, params)
    return saying({})
  },
  'stderr-flood': async ({ bytes, width }) => {
    const line = `${'x'.repeat(width - 1)}\n`
    const block = line.repeat(Math.ceil((1 << 20) / width))
    for (let left = bytes; left > 0; left -= block.length)
      if (!process.stderr.write(block)) await new Promise((resolve) => process.stderr.once('drain', resolve))
    return saying({})
  },
  big: ({ n, bytes }) => saying({ n, filler: 'y'.repeat(bytes) }),
}

const schemas = {
  strict: { type: 'object', properties: { n: { type: 'string', minLength: 1 } }, required: ['n'] },
}
const names = [...Object.keys(tools), 'strict', ...moreTools.split(' ').filter(Boolean)]

onLines((line) => seen.push(line))
serve({
  name: 'it-server',
  capabilities: {
    tools: { listChanged: true },
    resources: { subscribe: true, listChanged: true },
    logging: {},
  },
  start,
  requests: {
    'tools/list': () => ({
      tools: names.map((name) => ({ name, inputSchema: schemas[name] ?? { type: 'object' } })),
    }),
    'resources/list': () => ({
      resources: ['a', 'b', 'c'].map((name) => ({ name, uri: `it://${ownName}/${name}` })),
    }),
    'resources/templates/list': () => ({ resourceTemplates: [] }),
    'resources/read': ({ uri }) => ({ contents: [{ uri, text: uri }] }),
    'resources/subscribe': () => ({}),
    'resources/unsubscribe': () => ({}),
    'logging/setLevel': () => ({}),
    'tools/call': ({ name, arguments: args = {}, _meta = {} }, { id }) =>
      (tools[name] ?? tools.nonce)(args, { id, progressToken: _meta.progressToken }),
  },
})
