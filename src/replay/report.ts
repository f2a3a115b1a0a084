// The report of a replay: each difference with its place.

import { escapeText } from '../log/log.js'
import type { Difference } from './compare.js'
import { readTree } from './json-tree.js'
import { describe } from './message.js'
import { type Event, type ReplayOutcome, type Place, isFailure } from './outcome.js'
import type { Transcript } from './transcript.js'

/** Bytes shown on each side of a difference. */
const AROUND_BYTES = 60

/** Bytes shown of a frame as a whole. */
const FRAME_BYTES = 160

export interface Tally {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
  readonly frames: number
  readonly times: number
  readonly early: number
}

/** The report on one transcript; empty when nothing failed, unless every frame is wanted. */
export function transcriptReport(
  { file, name }: Transcript,
  outcome: ReplayOutcome,
  verbose: boolean,
): string {
  const events = verbose ? outcome.events : outcome.events.filter(isFailure)
  if (events.length === 0 && outcome.passed && !verbose) return ''
  const lines = events.flatMap((event) => eventLines(file, event))
  const stderr = outcome.passed ? [] : stderrLines(outcome.stderr)
  return [`${outcome.passed ? 'pass' : 'FAIL'} ${escapeText(name)}`, ...lines, ...stderr, ''].join('\n')
}

/** Said of every transcript that is left out, so that nobody takes it for passed. */
export function skipReport({ name }: Transcript, why: string): string {
  return `skip ${escapeText(`${name}: ${why}`)}\n`
}

export function summary({ passed, failed, skipped, frames, times, early }: Tally): string {
  const accepted = [
    ...(times > 0 ? [`${times} accepted as time`] : []),
    ...(early > 0 ? [`${early} accepted in another order`] : []),
  ]
  const more = [`${frames} frames compared`, ...accepted].join(', ')
  const left = skipped > 0 ? `, ${skipped} skipped` : ''
  return `${passed} passed, ${failed} failed${left} (${more})\n`
}

function eventLines(file: string, event: Event): string[] {
  switch (event.kind) {
    case 'sent':
      return [`  > ${whole(event.bytes)}`]
    case 'equal':
      return [`  < ${whole(event.bytes)}${event.times > 0 ? `  (${event.times} accepted as time)` : ''}`]
    case 'different':
      return [`  ${place(file, event.step)}: ${titleOf(event.step)} differs`, ...differenceLines(event)]
    case 'unlike':
      return unlikeLines(file, event)
    case 'unexpected':
      return [
        `  ${escapeText(file)}: ${event.title ?? nameOf(event.bytes)} was not expected`,
        `    came      ${whole(event.bytes)}`,
      ]
    case 'failed':
      return [`  ${escapeText(`${file}: a message did not get through: ${event.why}`)}`]
    case 'missing': {
      const expected = `    expected  ${whole(event.step.bytes)}`
      return [
        `  ${place(file, event.step)}: ${titleOf(event.step)} did not come: ${escapeText(event.why)}`,
        expected,
      ]
    }
    case 'exit': {
      const { problem = 'the server exited' } = event
      return [`  ${place(file, event.step)}: ${problem}, expected exit ${event.step.code}`]
    }
  }
}

function unlikeLines(file: string, { step, bytes, problem }: Event & { readonly kind: 'unlike' }): string[] {
  return [
    `  ${place(file, step)}: ${titleOf(step)} differs: ${escapeText(problem)}`,
    `    expected  ${whole(step.bytes)}`,
    `    came      ${whole(bytes)}`,
  ]
}

function titleOf({ title, bytes }: Place): string {
  return title ?? nameOf(bytes)
}

function differenceLines(event: Event & { readonly kind: 'different' }): string[] {
  const { path, problem, offset, expectedOffset }: Difference = event.difference
  const expected = around(event.step.bytes, expectedOffset)
  const came = around(event.bytes, offset)
  return [
    `    at byte ${offset}: ${escapeText(`${path} ${problem}`)}`,
    `    expected  ${expected.text}`,
    `              ${' '.repeat(expected.column)}^`,
    `    came      ${came.text}`,
    `              ${' '.repeat(came.column)}^`,
  ]
}

/** A piece of a frame, and the column of the byte at `offset` in it. */
function around(bytes: Buffer, offset: number): { text: string; column: number } {
  const start = Math.max(0, offset - AROUND_BYTES)
  const end = Math.min(bytes.length, offset + AROUND_BYTES)
  const before = `${start > 0 ? '…' : ''}${escapeText(bytes.toString('utf8', start, offset))}`
  const after = `${escapeText(bytes.toString('utf8', offset, end))}${end < bytes.length ? '…' : ''}`
  return { text: before + after, column: before.length }
}

function whole(bytes: Buffer): string {
  const text = escapeText(bytes.toString('utf8', 0, FRAME_BYTES))
  return bytes.length > FRAME_BYTES ? `${text}… (${bytes.length} bytes)` : text
}

function place(file: string, { line }: { readonly line: number }): string {
  return escapeText(`${file}:${line}`)
}

function nameOf(bytes: Buffer): string {
  try {
    return escapeText(describe(readTree(bytes)))
  } catch {
    return describe(undefined)
  }
}

function stderrLines(stderr: string): string[] {
  const lines = stderr.trim().split('\n').slice(-STDERR_LINES)
  return stderr.trim() === ''
    ? []
    : ['    the server said on stderr:', ...lines.map((line) => `      ${escapeText(line)}`)]
}

const STDERR_LINES = 10
