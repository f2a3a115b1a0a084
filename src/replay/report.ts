// The report of a replay: each difference with its place.

import { escapeText } from '../log/log.js'
import type { Difference } from './compare.js'
import { jsonTreeOf } from './json-tree.js'
import { describe } from './message.js'
import { type Event, type Result, isFailure } from './outcome.js'
import type { Transcript } from './transcript.js'

/** Bytes shown on each side of a difference. */
const AROUND_BYTES = 60

/** Bytes shown of a frame as a whole. */
const FRAME_BYTES = 160

/** The results of several transcripts. */
export interface Tally {
  passed: number
  failed: number
  skipped: number
  frames: number
  /** Dates and messages that were accepted although they differ, or came before others. */
  times: number
  early: number
}

export function count(tally: Tally, result: Result): void {
  if (result.kind === 'skipped') tally.skipped++
  else if (result.events.some(isFailure)) tally.failed++
  else tally.passed++
  for (const event of result.kind === 'skipped' ? [] : result.events) {
    if (event.kind === 'equal' || event.kind === 'different') tally.frames++
    if (event.kind !== 'equal') continue
    tally.times += event.times
    if (event.early) tally.early++
  }
}

/**
 * The report on one transcript; empty when nothing failed, unless every frame is wanted.
 *
 * A skipped transcript is always named, so that it does not count as passed.
 */
export function report({ file, name }: Transcript, result: Result, verbose: boolean): string {
  if (result.kind === 'skipped') return `skip ${escapeText(`${name}: ${result.why}`)}\n`
  const failures = result.events.filter(isFailure)
  if (failures.length === 0 && !verbose) return ''
  const verdict = failures.length === 0 ? 'pass' : 'FAIL'
  const lines = (verbose ? result.events : failures).flatMap((event) => eventLines(file, event))
  const stderr = failures.length === 0 ? [] : stderrLines(result.stderr)
  return [`${verdict} ${escapeText(name)}`, ...lines, ...stderr, ''].join('\n')
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
      return [`  ${place(file, event.step)}: ${nameOf(event.step.bytes)} differs`, ...differenceLines(event)]
    case 'unexpected':
      return [
        `  ${escapeText(file)}: ${nameOf(event.bytes)} was not expected`,
        `    came      ${whole(event.bytes)}`,
      ]
    case 'failed':
      return [`  ${escapeText(`${file}: a message did not get through: ${event.why}`)}`]
    case 'missing':
      return [
        `  ${place(file, event.step)}: ${nameOf(event.step.bytes)} did not come: ${escapeText(event.why)}`,
        `    expected  ${whole(event.step.bytes)}`,
      ]
    case 'exit': {
      const { problem = 'the server exited' } = event
      return [`  ${place(file, event.step)}: ${problem}, expected exit ${event.step.code}`]
    }
  }
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
  return escapeText(describe(jsonTreeOf(bytes)))
}

function stderrLines(stderr: string): string[] {
  const lines = stderr.trim().split('\n').slice(-STDERR_LINES)
  return stderr.trim() === ''
    ? []
    : ['    the server said on stderr:', ...lines.map((line) => `      ${escapeText(line)}`)]
}

const STDERR_LINES = 10
