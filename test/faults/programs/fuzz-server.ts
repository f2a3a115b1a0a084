// A server that sends almost valid frames, with and without requests: node fuzz-server.js SEED FRAMES FILE After
// FRAMES frames it becomes healthy. FILE keeps the number of frames from one process to the next.

import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { at, parsed, textAt } from '../../integration/support/json.js'
import { serverFrames } from '../support/frames.js'
import { fuzzed } from '../support/fuzz.js'
import { Random } from '../../sim/random.js'

const BURST = 50
const PAUSE_MS = 2
const TELL_EVERY = 20 * BURST

const [seed = '1', framesMax = '1000', file = ''] = process.argv.slice(2)
let said = existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0
const random = new Random(Number(seed) + said)
/** Calls without an answer. They are answered after the next burst. */
let asked: { readonly id: unknown; readonly nonce: string }[] = []

function result(id: unknown, value: string): string {
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${value}}\n`
}

function answer(message: unknown): string {
  const [id, method] = [at(message, 'id'), at(message, 'method')]
  if (id === undefined || method === undefined) return ''
  if (method === 'initialize') {
    setTimeout(burst, PAUSE_MS)
    const capabilities = '"capabilities":{"tools":{"listChanged":true},"logging":{}}'
    return result(
      id,
      `{"protocolVersion":"2025-06-18",${capabilities},"serverInfo":{"name":"f","version":"1"}}`,
    )
  }
  if (method === 'tools/list') return result(id, '{"tools":[{"name":"hit","inputSchema":{"type":"object"}}]}')
  if (method !== 'tools/call') return result(id, '{}')
  asked.push({ id, nonce: textAt(message, 'params', 'arguments', 'nonce') })
  return ''
}

/** Sends invalid frames, then valid answers, and a list change that makes the proxy read the lists again. */
function burst(): void {
  let lines = ''
  const frames = said < Number(framesMax) ? BURST : 0
  for (let left = frames; left > 0; left--) lines += `${madness()}\n`
  said += frames
  for (const { id, nonce } of asked) lines += result(id, `{"content":[{"type":"text","text":"${nonce}"}]}`)
  asked = []
  if (frames > 0) lines += '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n'
  if (frames > 0 && said % TELL_EVERY === 0) writeFileSync(file, String(said))
  const isTaken = process.stdout.write(Buffer.from(lines, 'latin1'))
  if (isTaken) setTimeout(burst, PAUSE_MS)
  else process.stdout.once('drain', burst)
}

/** Some frames get the id of a waiting call. */
function madness(): string {
  const frame = fuzzed(serverFrames, random)
  const waiting = asked[random.below(asked.length)]
  if (waiting === undefined || !random.chance(0.02)) return frame
  return frame.replace(/"id":("[^"]*"|[0-9]+)/, () => `"id":${JSON.stringify(waiting.id)}`)
}

let rest = ''
process.stdin.setEncoding('utf8')
process.stdin.on('data', (text: string) => {
  const lines = (rest + text).split('\n')
  rest = lines.pop() ?? ''
  for (const line of lines) process.stdout.write(answer(parsed(line)))
})
process.stdin.on('end', () => process.exit(0))
