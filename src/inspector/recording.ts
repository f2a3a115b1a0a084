// Writes captured frames as a recording for `mcps-proxy replay`.

import { Buffer } from 'node:buffer'
import { isCut } from './frame-facts.js'
import { lineOf } from './frame-view.js'
import type { MessageRedactor } from './redaction.js'
import type { CapturedFrame, Ring } from './ring.js'

/** The command line of the proxy. */
export interface RecordingInvocation {
  readonly command: string
  readonly args: readonly string[]
}

interface RecordingMeta extends RecordingInvocation {
  readonly at: Date
}

/** Numbers of frames in order, as in `1-200,310`. */
export type FrameRanges = readonly (readonly [first: number, last: number])[]

/** Reads ranges; undefined if the text is malformed. An empty text means all frames. */
export function readRanges(text: string): FrameRanges | undefined {
  if (text === '') return [[0, Infinity]]
  if (!/^\d{1,15}(?:-\d{1,15})?(?:,\d{1,15}(?:-\d{1,15})?)*$/.test(text)) return undefined
  const ranges = text.split(',').map((range): [number, number] => {
    const [first = 0, last = first] = range.split('-').map(Number)
    return [first, last]
  })
  return ranges.sort(([a], [b]) => a - b)
}

/** The frames of one turn of the event loop. Each frame takes some microseconds. */
const FRAMES_AT_ONCE = 200

/** Returns the lines of a recording, and lets the event loop run between batches of frames. */
export async function recordingOf(
  ring: Ring,
  ranges: FrameRanges,
  redactor: MessageRedactor,
  meta: RecordingMeta,
): Promise<Buffer[]> {
  const parts: Buffer[] = []
  const counts = { redacted: 0, cut: 0 }
  const { next } = ring
  let seen = 0
  let at = 0
  for (let n = ring.first; n < next; n++) {
    while (at < ranges.length && (ranges[at]?.[1] ?? 0) < n) at++
    const frame = ring.get(n)
    if (frame === undefined || (ranges[at]?.[0] ?? Infinity) > n) continue
    parts.push(...linesOf(frame, redactor, counts))
    if (++seen % FRAMES_AT_ONCE === 0) await new Promise((resolve) => setImmediate(resolve))
  }
  return [headerOf(meta, counts), ...parts]
}

function linesOf(
  frame: CapturedFrame,
  redactor: MessageRedactor,
  counts: { redacted: number; cut: number },
): Buffer[] {
  if (redactor.ranges(frame.bytes, isCut(frame)).length > 0) counts.redacted++
  if (!isCut(frame)) return [lineOf(frame, redactor)]
  counts.cut++
  const comment = `The next message is cut: ${frame.bytes.length} of its ${frame.size} bytes are here.`
  return [Buffer.from(`${JSON.stringify({ comment })}\n`), lineOf(frame, redactor)]
}

function headerOf(
  { command, args, at }: RecordingMeta,
  { redacted, cut }: { redacted: number; cut: number },
): Buffer {
  const header = {
    mcps: 1,
    recorded: true,
    at: at.toISOString(),
    command,
    args,
    ...(redacted > 0 && { redacted }),
    ...(cut > 0 && { cut }),
  }
  return Buffer.from(`${JSON.stringify(header)}\n`)
}
