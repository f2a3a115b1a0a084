// `--update`: the messages that came are written into the transcripts, in place of those that differ.

import { Buffer } from 'node:buffer'
import { readFileSync, writeFileSync } from 'node:fs'
import { child, readTree } from './json-tree.js'
import type { ReplayedFile } from './junit.js'

const LF = 0x0a

/** Gives a line for each file that was written. A placeholder in an updated message becomes the value that came. */
export function updateFiles(replayed: readonly ReplayedFile[]): string {
  const byFile = new Map<string, Map<number, Buffer>>()
  for (const { transcript, result } of replayed) {
    const lines = byFile.get(transcript.file) ?? new Map<number, Buffer>()
    for (const event of result.kind === 'skipped' ? [] : result.events)
      if (event.kind === 'different') lines.set(event.step.line, event.bytes)
    byFile.set(transcript.file, lines)
  }
  return [...byFile].map(([file, lines]) => updateFile(file, lines)).join('')
}

function updateFile(file: string, lines: ReadonlyMap<number, Buffer>): string {
  const parts: Buffer[] = []
  let written = 0
  for (const [index, line] of linesOf(readFileSync(file)).entries()) {
    const came = lines.get(index + 1)
    const frame = came === undefined ? undefined : child(readTree(line), 'frame')
    if (came === undefined || frame === undefined) parts.push(line)
    else parts.push(line.subarray(0, frame.start), withoutLineEnd(came), line.subarray(frame.end))
    if (frame !== undefined) written++
  }
  if (written === 0) return ''
  writeFileSync(file, Buffer.concat(parts))
  return `updated ${file}: ${written} ${written === 1 ? 'message' : 'messages'}\n`
}

/** The lines with their line ends. */
function linesOf(content: Buffer): Buffer[] {
  const lines: Buffer[] = []
  for (let start = 0; start < content.length;) {
    const found = content.indexOf(LF, start)
    const end = found < 0 ? content.length : found + 1
    lines.push(content.subarray(start, end))
    start = end
  }
  return lines
}

function withoutLineEnd(bytes: Buffer): Buffer {
  return bytes.at(-1) === LF ? bytes.subarray(0, -1) : bytes
}
