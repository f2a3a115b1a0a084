// A server that looks at nothing but the id and the name of a call.
//
// The tool `take` answers with the bytes of the whole line it got, as base64;
// `give` answers with the bytes it was told, as base64 in `arguments.b64`, as its
// result (`arguments.as` says otherwise: `error`, `notification`, `line`).
// The list of tools is that of the file IT_LIST, if there is one. With IT_STATELESS it speaks 2026-07-28.

import { readFileSync } from 'node:fs'
import { onLines } from './serve.mjs'

const list =
  process.env.IT_LIST === undefined
    ? '[{"name":"take","inputSchema":{"type":"object"}},{"name":"give","inputSchema":{"type":"object"}}]'
    : readFileSync(process.env.IT_LIST, 'utf8').trimEnd()

const say = (text) => process.stdout.write(Buffer.from(`${text}\n`, 'latin1'))
const result = (id, text) => say(`{"jsonrpc":"2.0","id":${id},"result":${text}}`)
const bytesOf = (text) => Buffer.from(text).toString('latin1')

const info = '"serverInfo":{"name":"it-echo","version":"1"}'
const capabilities = '"capabilities":{"tools":{},"logging":{},"resources":{},"prompts":{}}'

function give(id, { b64, as }) {
  const bytes = Buffer.from(b64, 'base64').toString('latin1')
  if (as === 'error') return say(`{"jsonrpc":"2.0","id":${id},"error":${bytes}}`)
  if (as === 'line') return say(bytes.replace('$ID', id))
  if (as === 'notification') {
    say(`{"jsonrpc":"2.0","method":"notifications/message","params":${bytes}}`)
    return result(id, '{}')
  }
  return result(id, bytes)
}

const isStateless = process.env.IT_STATELESS !== undefined
const type = isStateless ? '"resultType":"complete",' : ''
const hints = isStateless ? '"ttlMs":0,"cacheScope":"private",' : ''

const taken = (line) => `{${type}"content":[{"type":"text","text":"${line.toString('base64')}"}]}`

function message(line) {
  const { id, method, params } = JSON.parse(line.toString())
  if (id === undefined || method === undefined) return
  const own = JSON.stringify(id)
  if (isStateless && method === 'server/discover')
    result(own, `{${type}"supportedVersions":["2026-07-28"],${capabilities},${hints}"instructions":""}`)
  else if (method === 'initialize') {
    const version = JSON.stringify(params.protocolVersion)
    result(own, `{"protocolVersion":${version},${capabilities},${info}}`)
  } else if (method === 'tools/list') result(own, `{${type}${hints}"tools":${bytesOf(list)}}`)
  else if (method === 'prompts/list') result(own, `{${type}${hints}"prompts":[{"name":"take"}]}`)
  else if (method === 'resources/list')
    result(own, `{${type}${hints}"resources":[{"name":"r","uri":"it://r"}]}`)
  else if (method === 'tools/call' && params.name === 'give') give(own, params.arguments)
  else result(own, taken(line))
}

onLines(message)
process.stdin.on('end', () => process.exit(0))
