// A small MCP stdio server of either era, for the processor time of what stands before it: it parses what it gets.
//
//   node era-server.js [--stateless]

import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'

const { values: flags } = parseArgs({ options: { stateless: { type: 'boolean', default: false } } })
const hints = flags.stateless ? '"resultType":"complete","ttlMs":3600000,"cacheScope":"public",' : ''
const complete = flags.stateless ? '"resultType":"complete",' : ''
const tools = `{${hints}"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}`
const discovered = `{${hints}"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`
const initialized =
  '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"era","version":"1"}}'
const called = `{${complete}"content":[{"type":"text","text":"packages/core/src/transport/connection-state.tsx"}]}`
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

createInterface({ input: process.stdin }).on('line', (line) => {
  const message: unknown = JSON.parse(line)
  if (!isRequest(message)) return
  const result = resultOf(message.method)
  const said = result === undefined ? `"error":${refused}` : `"result":${result}`
  process.stdout.write(`{"jsonrpc":"2.0","id":${JSON.stringify(message.id)},${said}}\n`)
})
