// A small MCP server of either era, for the processor time of what stands before it: it parses what it gets.
//
//   node era-server.js [--stateless]     on stdio; all calls of one read are answered with one write
//
// The tool `blob` answers with `bytes` of source text, its id first or last.

import { parseArgs } from 'node:util'

import { blob } from './wire.js'

const { values: flags } = parseArgs({ options: { stateless: { type: 'boolean', default: false } } })
const hints = flags.stateless ? '"resultType":"complete","ttlMs":3600000,"cacheScope":"public",' : ''
const complete = flags.stateless ? '"resultType":"complete",' : ''
const tools = `{${hints}"tools":[{"name":"echo","inputSchema":{"type":"object"}},{"name":"blob","inputSchema":{"type":"object"}}]}`
const discovered = `{${hints}"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`
const initialized =
  '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"era","version":"1"}}'
const called = `{${complete}"content":[{"type":"text","text":"packages/core/src/transport/connection-state.tsx"}]}`
/** As the official SDK writes it. */
const serverInfo = flags.stateless
  ? ',"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"era","version":"1"}}'
  : ''
const refused = '{"code":-32601,"message":"Method not found"}'

function resultOf(method: string): string | undefined {
  switch (method) {
    case 'tools/call':
      return called
    case 'tools/list':
      return tools
    case 'server/discover':
      return flags.stateless ? discovered : undefined
    case 'initialize':
      return flags.stateless ? undefined : initialized
    default:
      return undefined
  }
}

function isRequest(value: unknown): value is { readonly id: unknown; readonly method: string } {
  return typeof value === 'object' && value !== null && 'id' in value && 'method' in value
}

/** The answer to a call of `blob`, in parts; undefined for every other message. */
function blobAnswer(text: string): readonly Buffer[] | undefined {
  const [, bytes, envelope] = /"arguments":\{"bytes":(\d+),"envelope":"(id \w+)"/.exec(text) ?? []
  const id = /^\{"jsonrpc":"2.0","id":(\d+)/.exec(text)?.[1]
  if (bytes === undefined || id === undefined) return undefined
  const [before, after] =
    envelope === 'id first'
      ? [`{"jsonrpc":"2.0","id":${id},"result":`, '}']
      : ['{"result":', `,"jsonrpc":"2.0","id":${id}}`]
  const head = Buffer.from(`${before}{${complete}"content":[{"type":"text","text":"`)
  return [head, blob(Number(bytes)), Buffer.from(`"}]${serverInfo}}${after}`)]
}

/** Undefined where nothing was asked. */
function answerTo(text: string): string | undefined {
  const message: unknown = JSON.parse(text)
  if (!isRequest(message)) return undefined
  const { id, method } = message
  const result = resultOf(method)
  const said = result === undefined ? `"error":${refused}` : `"result":${result}`
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},${said}}`
}

function serveLines(): void {
  let rest = ''
  process.stdin.setEncoding('utf8').on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    const [first = ''] = lines
    if (blobAnswer(first) !== undefined) {
      for (const line of lines) sendBlob(line)
      return
    }
    const answers = lines.flatMap((line) => answerTo(line) ?? [])
    if (answers.length > 0) process.stdout.write(`${answers.join('\n')}\n`)
  })
}

function sendBlob(line: string): void {
  process.stdout.cork()
  for (const part of blobAnswer(line) ?? []) process.stdout.write(part)
  process.stdout.write('\n')
  process.stdout.uncork()
}

serveLines()
