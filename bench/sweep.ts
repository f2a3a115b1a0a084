// Processor time of the proxy for each megabyte of results, over sizes that lie on both sides of every threshold.
//
//   node build/bench/sweep.js [--cli PATH] [--rounds N]
//
// The same file is the server (`--server`). It writes an answer with its id first or last, as servers do, and of three
// kinds: text with the escapes of a source file, text that is not Latin-1, and a dense structure of short strings.
// A figure is the lowest of the rounds, since what else runs on the machine only adds to it.

import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

import { cpuSeconds } from './process-facts.js'
import { stringBody } from './wire.js'

const LF = 10
const MB = 1_000_000
/** Moved for one figure. */
const SAMPLE_BYTES = 96 * MB
const CALLS_MAX = 4000
/** So much is in flight at once, so that small results do not measure how a process is woken. */
const INFLIGHT_BYTES = 4 * MB
const INFLIGHT_MAX = 64
const WARM_UP_CALLS = 100
/** A longer line is dropped. */
const LINE_BYTES_MAX = 64 * 1024 * 1024
const ORDERS = ['first', 'last'] as const
const KINDS = ['source', 'not-latin-1', 'dense'] as const

/** Where the code looks at lengths: 4 KiB, 16 KiB, 64 KiB, 1 MiB, and the limit of a line. */
const SIZES = [
  4_000, 4_200, 16_000, 17_000, 65_000, 66_000, 131_000, 250_000, 500_000, 1_000_000, 1_050_000, 1_200_000,
  2_000_000, 4_000_000, 8_000_000, 16_000_000, 67_000_000, 68_000_000,
]
const JUDGED_FROM = 250_000
const JUDGED_TO = 16_000_000

type Order = (typeof ORDERS)[number]
type Kind = (typeof KINDS)[number]

const { values: flags } = parseArgs({
  options: {
    server: { type: 'boolean', default: false },
    cli: { type: 'string', default: fileURLToPath(new URL('../../dist/cli.js', import.meta.url)) },
    rounds: { type: 'string', default: '5' },
  },
})

/** Answers calls whose tool is `blob` with arguments `bytes`, `order` and `kind`. */
function serve(): void {
  const contents = new Map<string, Buffer>()
  const answer = (line: string): void => {
    const id = /"id":(\d+)/.exec(line)?.[1]
    if (id === undefined) return
    const [, bytes, order, kind] = /"bytes":(\d+),"order":"(\w+)","kind":"([\w-]+)"/.exec(line) ?? []
    const said = bytes === undefined ? plainResult(line) : contentOf(contents, Number(bytes), kind ?? '')
    const head = order === 'last' ? '{"jsonrpc":"2.0","result":' : `{"jsonrpc":"2.0","id":${id},"result":`
    const tail = order === 'last' ? `,"id":${id}}\n` : '}\n'
    process.stdout.cork()
    process.stdout.write(head)
    process.stdout.write(said)
    process.stdout.write(tail)
    process.stdout.uncork()
  }
  let rest = ''
  process.stdin.setEncoding('utf8')
  process.stdin.on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) answer(line)
  })
  process.stdin.on('end', () => process.exit(0))
}

function plainResult(line: string): string {
  const serverInfo = { name: 'sweep', version: '1.0.0' }
  if (line.includes('"initialize"'))
    return JSON.stringify({ protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo })
  return JSON.stringify({ tools: [{ name: 'blob', inputSchema: { type: 'object' } }] })
}

function contentOf(known: Map<string, Buffer>, bytes: number, kind: string): Buffer {
  const key = `${bytes} ${kind}`
  const there = known.get(key)
  if (there !== undefined) return there
  const made =
    kind === 'dense'
      ? denseContent(bytes)
      : textContent(kind === 'source' ? stringBody(bytes, 'text') : wide(bytes))
  known.set(key, made)
  return made
}

function textContent(text: Buffer): Buffer {
  return Buffer.concat([Buffer.from('{"content":[{"type":"text","text":"'), text, Buffer.from('"}]}')])
}

/** Text of characters that take two, three and four bytes. */
function wide(bytes: number): Buffer {
  const words = Buffer.from('Длинный текст 長い文章です 😀 größer, ')
  const text = Buffer.alloc(bytes, 'x')
  for (let at = 0; at + words.length <= bytes; at += words.length) words.copy(text, at)
  return text
}

function denseContent(bytes: number): Buffer {
  const item = '{"id":4711,"name":"a short name","tags":["a","b"],"ok":true},'
  const items = item.repeat(Math.ceil(bytes / item.length)).slice(0, -1)
  return Buffer.from(`{"content":[],"structuredContent":{"items":[${items}]}}`)
}

/** A proxy in front of the server. */
class Session {
  readonly #child: ChildProcess
  #next = 1
  #bytes = 0
  #answered: (count: number) => void = () => {}

  constructor(argv: readonly string[]) {
    const [command = '', ...args] = argv
    this.#child = spawn(command, args, { stdio: ['pipe', 'pipe', 'ignore'] })
    this.#child.stdout?.on('data', (chunk: Buffer) => {
      this.#bytes += chunk.length
      let count = 0
      for (let end = chunk.indexOf(LF); end >= 0; end = chunk.indexOf(LF, end + 1)) count++
      if (count > 0) this.#answered(count)
    })
  }

  /** Asks `count` times, `inflight` at once; how many bytes the answers have. */
  ask(method: string, params: object, count = 1, inflight = 1): Promise<number> {
    this.#bytes = 0
    return new Promise((resolve) => {
      let sent = 0
      let answered = 0
      const send = (): void => {
        for (; sent < Math.min(count, answered + inflight); sent++)
          this.tell({ jsonrpc: '2.0', id: this.#next++, method, params })
      }
      this.#answered = (more) => {
        answered += more
        if (answered >= count) resolve(this.#bytes)
        else send()
      }
      send()
    })
  }

  tell(message: object): void {
    this.#child.stdin?.write(`${JSON.stringify(message)}\n`)
  }

  call(bytes: number, order: Order, kind: Kind, count = 1): Promise<number> {
    const inflight = Math.max(1, Math.min(INFLIGHT_MAX, Math.floor(INFLIGHT_BYTES / bytes)))
    return this.ask('tools/call', { name: 'blob', arguments: { bytes, order, kind } }, count, inflight)
  }

  get cpuSeconds(): number {
    return cpuSeconds(this.#child.pid ?? 0) ?? Number.NaN
  }

  close(): void {
    this.#child.stdin?.end()
  }
}

async function sweep(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'mcps-proxy-sweep-'))
  const config = join(folder, 'config.json')
  const server = {
    command: process.execPath,
    args: [fileURLToPath(import.meta.url), '--server'],
    prefix: false,
  }
  writeFileSync(config, JSON.stringify({ mcpServers: { sweep: { ...server, timeout: 60_000 } } }))
  const figures = new Map<string, number>()
  // A server that exceeds the limit again and again is given up, so each round has its own proxy.
  for (let round = 0; round < Number(flags.rounds); round++) await sweepOnce(config, round, figures)
  rmSync(folder, { recursive: true })
  for (const kind of KINDS) report(kind, (size, order) => figures.get(keyOf(size, order, kind)) ?? Number.NaN)
}

function keyOf(size: number, order: Order, kind: Kind): string {
  return `${size} ${order} ${kind}`
}

function sizesOf(kind: Kind): readonly number[] {
  return kind === 'dense' ? SIZES.filter((size) => size <= JUDGED_TO) : SIZES
}

async function sweepOnce(config: string, round: number, figures: Map<string, number>): Promise<void> {
  const session = new Session([process.execPath, flags.cli, '--stdio', '--config', config])
  const clientInfo = { name: 'sweep', version: '1.0.0' }
  await session.ask('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo })
  session.tell({ jsonrpc: '2.0', method: 'notifications/initialized' })
  await session.ask('tools/list', {})
  await session.call(JUDGED_FROM, 'last', 'source', WARM_UP_CALLS)
  for (const kind of KINDS)
    for (const size of sizesOf(kind))
      for (const order of round % 2 === 0 ? ORDERS : ORDERS.toReversed()) {
        const key = keyOf(size, order, kind)
        figures.set(key, Math.min(figures.get(key) ?? Infinity, await sample(session, size, order, kind)))
      }
  session.close()
}

/** Milliseconds of processor time a megabyte. */
async function sample(session: Session, size: number, order: Order, kind: Kind): Promise<number> {
  const calls = Math.min(CALLS_MAX, Math.max(2, Math.round(SAMPLE_BYTES / size)))
  const isKept = size < LINE_BYTES_MAX
  const answer = await session.call(size, order, kind)
  if (answer >= size !== isKept) throw new Error(`an answer of ${answer} bytes to a call for ${size}`)
  const before = session.cpuSeconds
  await session.call(size, order, kind, calls)
  return ((session.cpuSeconds - before) * 1000) / ((calls * size) / MB)
}

function report(kind: Kind, figureOf: (size: number, order: Order) => number): void {
  const sizes = sizesOf(kind)
  console.log(`\n${kind}: ms of processor time a MB\n       bytes   id first   id last`)
  for (const size of sizes) {
    const figures = ORDERS.map((order) => figureOf(size, order).toFixed(3).padStart(9))
    console.log(`${size.toLocaleString('en').padStart(12)}  ${figures.join(' ')}`)
  }
  const judged = sizes.filter((size) => size >= JUDGED_FROM && size <= JUDGED_TO)
  const all = judged.flatMap((size) => ORDERS.map((order) => figureOf(size, order)))
  const ratio = Math.max(...all) / Math.min(...all)
  console.log(`worst / best from 0.25 to 16 MB: ${ratio.toFixed(2)} (aim: at most 1.5)`)
}

if (flags.server) serve()
else await sweep()
