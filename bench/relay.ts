// The practical limit: a line relay between stdin and a child that parses nothing.
//
//   node relay.js COMMAND [ARG…]
//
// It does what any proxy on newline-delimited JSON has to do, and nothing else:
// it forwards whole lines only, so that a message never waits half-sent, in one
// write for all the lines that one read completed. It looks for the last line
// end of a chunk (the lines before it need no look), copies nothing, and stops
// reading while the other side does not take what it was given.

import { spawn } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'

const LF = 10

function relay(from: Readable, to: Writable): void {
  let pieces: Buffer[] = []
  const resume = () => from.resume()
  from.on('data', (chunk: Buffer) => {
    const end = chunk.lastIndexOf(LF) + 1
    if (end === 0) {
      pieces.push(chunk)
      return
    }
    const whole = end === chunk.length ? chunk : chunk.subarray(0, end)
    if (pieces.length === 0) {
      to.write(whole)
    } else {
      // A corked stream hands all the pieces to one writev, uncopied.
      to.cork()
      for (const piece of pieces) to.write(piece)
      to.write(whole)
      to.uncork()
      pieces = []
    }
    if (end < chunk.length) pieces.push(chunk.subarray(end))
    // A stream asks for a drain even when the kernel took a large write whole.
    if (to.writableLength > 0 && to.writableNeedDrain) {
      from.pause()
      to.once('drain', resume)
    }
  })
  from.once('end', () => to.end())
  to.on('error', () => from.destroy())
}

const [command, ...args] = process.argv.slice(2)
if (command === undefined) {
  process.stderr.write('usage: relay.js COMMAND [ARG…]\n')
  process.exit(2)
}
const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] })
child.once('error', (error) => {
  process.stderr.write(`relay: ${error.message}\n`)
  process.exit(1)
})
child.once('exit', (code) => (process.exitCode = code ?? 1))
relay(process.stdin, child.stdin)
relay(child.stdout, process.stdout)
