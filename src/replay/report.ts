// The results of replays, and their texts.

import { jsonTreeOf } from '../ask/json-value.js'
import { escapeText } from '../text/escape.js'
import { describe } from './address.js'
import type { MessageVerdict } from './compare.js'
import type { Exit, Expected, Sent, Transcript } from './transcript.js'

type TranscriptLine = Sent | Expected

export type Event =
  | { readonly kind: 'sent'; readonly step: TranscriptLine; readonly bytes: Buffer }
  | (Answer & Extract<MessageVerdict, { readonly kind: 'equal' }>)
  | (Answer & Extract<MessageVerdict, { readonly kind: 'different' }>)
  | { readonly kind: 'unexpected'; readonly bytes: Buffer }
  /** The replay could not send a message. */
  | { readonly kind: 'failed'; readonly why: string }
  /** The server did not send the message that `step` expects. */
  | { readonly kind: 'missing'; readonly step: TranscriptLine; readonly why: string }
  | { readonly kind: 'exit'; readonly step: Exit; readonly problem: string | undefined }

interface Answer {
  readonly step: Expected
  readonly bytes: Buffer
}

export interface ReplayOutcome {
  readonly kind: 'replayed'
  readonly events: readonly Event[]
  readonly stderr: string
}

export type Result = ReplayOutcome | { readonly kind: 'skipped'; readonly why: string }

function isFailure(event: Event): boolean {
  return event.kind === 'exit' ? event.problem !== undefined : event.kind !== 'sent' && event.kind !== 'equal'
}

export function hasFailed(result: Result): boolean {
  return result.kind === 'replayed' && result.events.some(isFailure)
}

/** The most bytes on each side of a difference. */
const AROUND_BYTES = 60

/** The most bytes of a frame without a difference. */
const FRAME_BYTES = 160

/**
 * Returns the report on one transcript; empty if it passed, unless `verbose`.
 *
 * The report always names a skipped transcript, so that it does not count as passed.
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

export function summary(results: readonly Result[]): string {
  const failed = results.filter(hasFailed).length
  const skipped = results.filter(({ kind }) => kind === 'skipped').length
  const events = results.flatMap((result) => (result.kind === 'skipped' ? [] : result.events))
  const equal = events.filter((event) => event.kind === 'equal')
  const frames = equal.length + events.filter(({ kind }) => kind === 'different').length
  const times = equal.reduce((sum, event) => sum + event.times, 0)
  const left = skipped > 0 ? `, ${skipped} skipped` : ''
  const more = `${frames} frames compared${times > 0 ? `, ${times} accepted as time` : ''}`
  return `${results.length - failed - skipped} passed, ${failed} failed${left} (${more})\n`
}

function eventLines(file: string, event: Event): string[] {
  const line = 'step' in event ? escapeText(`${file}:${event.step.line}`) : escapeText(file)
  switch (event.kind) {
    case 'sent':
      return [`  > ${whole(event.bytes)}`]
    case 'equal':
      return [`  < ${whole(event.bytes)}${event.times > 0 ? `  (${event.times} accepted as time)` : ''}`]
    case 'different':
      return [`  ${line}: ${nameOf(event.step.bytes)} differs`, ...differenceLines(event)]
    case 'unexpected':
      return [`  ${line}: ${nameOf(event.bytes)} was not expected`, `    came      ${whole(event.bytes)}`]
    case 'failed':
      return [`  ${line}: a message did not get through: ${escapeText(event.why)}`]
    case 'missing':
      return [
        `  ${line}: ${nameOf(event.step.bytes)} did not come: ${escapeText(event.why)}`,
        `    expected  ${whole(event.step.bytes)}`,
      ]
    case 'exit':
      return [`  ${line}: ${event.problem ?? 'the server exited'}, expected exit ${event.step.code}`]
  }
}

function differenceLines({ difference, step, bytes }: Event & { readonly kind: 'different' }): string[] {
  const { path, problem, offset, expectedOffset } = difference
  return [
    `    at byte ${offset}: ${escapeText(`${path} ${problem}`)}`,
    ...marked('expected  ', step.bytes, expectedOffset),
    ...marked('came      ', bytes, offset),
  ]
}

/** Returns a piece of a frame, with a mark below the byte at `offset`. */
function marked(title: string, bytes: Buffer, offset: number): string[] {
  const start = Math.max(0, offset - AROUND_BYTES)
  const end = Math.min(bytes.length, offset + AROUND_BYTES)
  const before = `${start > 0 ? '…' : ''}${escapeText(bytes.toString('utf8', start, offset))}`
  const after = `${escapeText(bytes.toString('utf8', offset, end))}${end < bytes.length ? '…' : ''}`
  return [`    ${title}${before}${after}`, `    ${' '.repeat(title.length + before.length)}^`]
}

function whole(bytes: Buffer): string {
  const text = escapeText(bytes.toString('utf8', 0, FRAME_BYTES))
  return bytes.length > FRAME_BYTES ? `${text}… (${bytes.length} bytes)` : text
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
