// A server that answers with the worst messages that JSON-RPC and MCP allow, one for each call of its tool.
//
//   node worst-server.js
//
// Each message is about as long as a line may be (64 MiB), and hard on a reader that makes an object of each part of it.

import { createInterface } from 'node:readline'

const MESSAGE_BYTES = 63 * 1024 * 1024

/** A message of `MESSAGE_BYTES` with `piece` again and again between its two ends. */
function filled(head: string, piece: string, tail: string): Buffer {
  const line = Buffer.alloc(MESSAGE_BYTES, piece)
  const first = Buffer.from(head)
  const last = Buffer.from(`${tail}\n`)
  const body = line.subarray(
    0,
    piece.length * Math.floor((line.length - last.length - first.length) / piece.length),
  )
  return Buffer.concat([first, body, last])
}

const start = (id: number): string => `{"jsonrpc":"2.0","id":${id},`

function beforeAnswer(message: Buffer, id: number): Buffer {
  return Buffer.concat([message, Buffer.from(`${start(id)}"result":{"content":[]}}\n`)])
}

/** What a call of each kind is answered with. */
const answers: Readonly<Record<string, (id: number) => Buffer>> = {
  'line breaks before the result': (id) => filled(start(id), '\r', '"result":{"content":[]}}'),
  'line breaks between items': (id) => filled(`${start(id)}"result":{"content":[0`, ',\r0', ']}}'),
  'members of a result': (id) => filled(`${start(id)}"result":{"content":[]`, ',"a":0', '}}'),
  'members that are acted on': (id) =>
    filled(`${start(id)}"result":{"content":[]`, ',"resultType":"complete","_meta":{}', '}}'),
  'items of a result': (id) => filled(`${start(id)}"result":{"content":[0`, ',0', ']}}'),
  'a batch before the answer': (id) => beforeAnswer(filled('[0', ',0', ']'), id),
  'a batch of notifications before the answer': (id) =>
    beforeAnswer(filled('[0', ',{"jsonrpc":"2.0","method":"n"}', ']'), id),
}

/** The kinds of answers, and a list of tools with millions of items. */
export const LIST = 'items of a list'
export const kinds: readonly string[] = [...Object.keys(answers), LIST]

let isListLong = false

function say(id: unknown, result: object): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`)
}

function call(id: number, kind: string): void {
  const answer = answers[kind]
  if (answer !== undefined) return void process.stdout.write(answer(id))
  isListLong = true
  process.stdout.write('{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n')
  say(id, { content: [] })
}

function take(line: string): void {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined) return
  if (method === 'initialize') {
    const serverInfo = { name: 'worst', version: '1' }
    const capabilities = { tools: { listChanged: true } }
    say(id, { protocolVersion: params.protocolVersion, capabilities, serverInfo })
  } else if (method === 'tools/list' && isListLong) {
    isListLong = false
    process.stdout.write(filled(`${start(id)}"result":{"tools":[0`, ',0', ']}}'))
  } else if (method === 'tools/list') {
    say(id, { tools: [{ name: 'answer', inputSchema: { type: 'object' } }] })
  } else if (method === 'tools/call') call(id, params.arguments.kind)
  else process.stdout.write(`{"jsonrpc":"2.0","id":${id},"error":{"code":-32601,"message":"no"}}\n`)
}

if (process.argv[1]?.endsWith('worst-server.js') === true)
  createInterface({ input: process.stdin }).on('line', take)
