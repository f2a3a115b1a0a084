// A server gone mad: it answers each call among frames that are nearly right.
//
//   node fuzz-server.js SEED FRAMES
//
// FRAMES is how many come before each answer.

import { at, parsed, textAt } from '../../integration/support/json.js'
import { serverFrames } from '../support/frames.js'
import { fuzzed } from '../support/fuzz.js'
import { Random } from '../support/random.js'

const [seed = '1', framesEach = '50'] = process.argv.slice(2)
const random = new Random(Number(seed))
let lists = 0

function result(id: unknown, value: string): string {
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${value}}\n`
}

/** Right answers, with what is wrong in front of them. */
function answer(message: unknown): string {
  const [id, method] = [at(message, 'id'), at(message, 'method')]
  if (id === undefined || method === undefined) return ''
  if (method === 'initialize') {
    const capabilities = '"capabilities":{"tools":{"listChanged":true},"logging":{}}'
    return result(
      id,
      `{"protocolVersion":"2025-06-18",${capabilities},"serverInfo":{"name":"f","version":"1"}}`,
    )
  }
  if (method === 'tools/list') return list(id)
  if (method !== 'tools/call') return result(id, '{}')
  const nonce = textAt(message, 'params', 'arguments', 'nonce')
  return madness(id) + result(id, `{"content":[{"type":"text","text":"${nonce}"}]}`)
}

/** The first list is right, so that the tool is known. */
function list(id: unknown): string {
  const right = result(id, '{"tools":[{"name":"hit","inputSchema":{"type":"object"}}]}')
  return lists++ === 0 || random.chance(0.5) ? right : `${fuzzed([right.trimEnd()], random)}\n${right}`
}

function madness(id: unknown): string {
  const own = JSON.stringify(id)
  let lines = ''
  for (let left = Number(framesEach); left > 0; left--) {
    const frame = fuzzed(serverFrames, random)
    lines += `${random.chance(0.1) ? frame.replace(/"id":("[^"]*"|[0-9]+)/, () => `"id":${own}`) : frame}\n`
  }
  return lines
}

let rest = ''
process.stdin.setEncoding('utf8')
process.stdin.on('data', (text: string) => {
  const lines = (rest + text).split('\n')
  rest = lines.pop() ?? ''
  for (const line of lines) process.stdout.write(Buffer.from(answer(parsed(line)), 'latin1'))
})
process.stdin.on('end', () => process.exit(0))
