// A yardstick, not a subject of the aims: a relay that parses and writes every message again.
//
//   node parse-relay.js COMMAND [ARG…]
//
// Otherwise as economical as relay.ts: one write for what one read completed.
// `main.js --with-parse` measures it, to show where the cheapest proxy that
// works on values instead of bytes would stand on this machine.

import { spawn } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'

const LF = 10

function rewrite(line: Buffer): string {
  const message: unknown = JSON.parse(line.toString())
  return JSON.stringify(message) + '\n'
}

function relay(from: Readable, to: Writable): void {
  let pieces: Buffer[] = []
  from.on('data', (chunk: Buffer) => {
    let at = 0
    let out = ''
    for (let end = chunk.indexOf(LF); end >= 0; end = chunk.indexOf(LF, at)) {
      const last = chunk.subarray(at, end)
      out += rewrite(pieces.length === 0 ? last : Buffer.concat([...pieces, last]))
      pieces = []
      at = end + 1
    }
    if (at < chunk.length) pieces.push(chunk.subarray(at))
    if (out === '') return
    to.write(out)
    if (to.writableNeedDrain) {
      from.pause()
      to.once('drain', () => from.resume())
    }
  })
  from.once('end', () => to.end())
  to.on('error', () => from.destroy())
}

const [command, ...args] = process.argv.slice(2)
if (command === undefined) {
  process.stderr.write('usage: parse-relay.js COMMAND [ARG…]\n')
  process.exit(2)
}
const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] })
child.once('error', () => process.exit(1))
relay(process.stdin, child.stdin)
relay(child.stdout, process.stdout)
