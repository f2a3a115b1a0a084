// The results of a replay as JUnit XML, which continuous integration shows.

import { type Result, isFailure } from './outcome.js'
import { report } from './report.js'
import type { Transcript } from './transcript.js'

/** A transcript, and how its replay went. */
export interface ReplayedFile {
  readonly transcript: Transcript
  readonly result: Result
}

export function junitXml(replayed: readonly ReplayedFile[]): string {
  const failures = replayed.filter(({ result }) => hasFailed(result)).length
  const skipped = replayed.filter(({ result }) => result.kind === 'skipped').length
  const counts = `tests="${replayed.length}" failures="${failures}" skipped="${skipped}"`
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuite name="mcps-proxy replay" ${counts}>`,
    ...replayed.map(testCase),
    '</testsuite>',
    '',
  ].join('\n')
}

function testCase({ transcript, result }: ReplayedFile): string {
  const opening = `  <testcase classname="replay" name="${escapeXml(transcript.name)}"`
  if (result.kind === 'skipped') return `${opening}><skipped message="${escapeXml(result.why)}"/></testcase>`
  if (!hasFailed(result)) return `${opening}/>`
  return `${opening}><failure>${escapeXml(report(transcript, result, false))}</failure></testcase>`
}

function hasFailed(result: Result): boolean {
  return result.kind === 'replayed' && result.events.some(isFailure)
}

/** A report has escapes in place of control characters, which XML does not allow. */
function escapeXml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}
